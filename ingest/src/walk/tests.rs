//! Small folders with exactly what is read of them.

use std::path::Path;

use super::*;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn walked(files: &[(&str, &str)], limits: Limits) -> Walked {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files);
    walk(&Tree::open(root.path(), None).unwrap(), limits)
}

fn paths(walked: &Walked) -> Vec<&str> {
    walked.candidates.iter().map(|candidate| candidate.path.as_str()).collect()
}

fn skipped(walked: Walked) -> Vec<(String, String)> {
    walked.report.into_parts(&Limits::default()).0.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, reason)| ((*path).to_owned(), (*reason).to_owned())).collect()
}

#[test]
fn folders_of_others_and_of_builds_are_skipped_once() {
    let walked = walked(
        &[
            ("a.ts", ""),
            ("node_modules/stripe/index.js", ""),
            ("node_modules/stripe/more.js", ""),
            ("packages/x/dist/a.js", ""),
            ("build/a.js", ""),
            ("coverage/a.js", ""),
            ("graft/a.js", ""),
            ("__pycache__/a.js", ""),
            ("environment/pyvenv.cfg", ""),
            ("environment/lib/a.py", ""),
            ("lib/site-packages/a.py", ""),
            (".next/a.js", ""),
            (".eslintrc.js", ""),
            ("dist.ts", ""),
        ],
        Limits::default(),
    );
    assert_eq!(paths(&walked), [".eslintrc.js", "a.ts", "dist.ts"]);
    assert_eq!(
        skipped(walked),
        pairs(&[
            (".next/", "hidden"),
            ("__pycache__/", "build_output"),
            ("build/", "build_output"),
            ("coverage/", "build_output"),
            ("environment/", "vendored"),
            ("graft/", "build_output"),
            ("lib/site-packages/", "vendored"),
            ("node_modules/", "vendored"),
            ("packages/x/dist/", "build_output"),
        ])
    );
}

#[test]
fn vendor_and_target_are_skipped_only_beside_their_manifest() {
    let walked = walked(
        &[
            ("src/vendor/stripe.ts", ""),
            ("src/target/a.ts", ""),
            ("go/go.mod", ""),
            ("go/vendor/a.ts", ""),
            ("php/composer.json", ""),
            ("php/vendor/a.ts", ""),
            ("rust/Cargo.toml", ""),
            ("rust/target/a.ts", ""),
        ],
        Limits::default(),
    );
    assert_eq!(paths(&walked), ["src/target/a.ts", "src/vendor/stripe.ts"]);
    assert_eq!(
        skipped(walked),
        pairs(&[("go/vendor/", "vendored"), ("php/vendor/", "vendored"), ("rust/target/", "build_output")])
    );
}

#[test]
fn ignore_files_are_nested_and_negation_does_not_reach_below_an_ignored_folder() {
    let walked = walked(
        &[
            (".gitignore", "*.gen.ts\n/private/\n\\#odd.ts\n\\!bang.ts\nlogs/*\n!logs/keep.ts\n!node_modules/\n"),
            ("a.gen.ts", ""),
            ("private/.gitignore", "!b.ts\n"),
            ("private/b.ts", ""),
            ("sub/private/c.ts", ""),
            ("#odd.ts", ""),
            ("!bang.ts", ""),
            ("logs/keep.ts", ""),
            ("logs/lose.ts", ""),
            ("sub/.gitignore", "!d.gen.ts\nx.ts\n"),
            ("sub/d.gen.ts", ""),
            ("sub/x.ts", ""),
            ("sub/ignored.json", ""),
            ("x.ts", ""),
            ("node_modules/a.js", ""),
        ],
        Limits::default(),
    );
    assert_eq!(paths(&walked), ["logs/keep.ts", "sub/d.gen.ts", "sub/private/c.ts", "x.ts"]);
    assert_eq!(
        skipped(walked),
        pairs(&[
            ("!bang.ts", "ignored"),
            ("#odd.ts", "ignored"),
            ("a.gen.ts", "ignored"),
            ("logs/lose.ts", "ignored"),
            ("node_modules/", "vendored"),
            ("private/", "ignored"),
            ("sub/x.ts", "ignored"),
        ])
    );
}

#[test]
fn oversized_and_minified_files_are_skipped_and_only_oversize_makes_the_index_partial() {
    let large = "a".repeat(usize::try_from(SOURCE_BYTES).unwrap() + 1);
    let walked = walked(
        &[
            ("big.ts", &large),
            ("fits.ts", &large[1..]),
            ("big.min.js", &large),
            ("a.min.js", ""),
            ("min.js", ""),
            ("big.txt", &large),
        ],
        Limits::default(),
    );
    assert_eq!(paths(&walked), ["fits.ts", "min.js"]);
    let (skipped, partial) = walked.report.into_parts(&Limits::default());
    assert_eq!(skipped.len(), 3);
    assert_eq!(partial.len(), 1);
    assert_eq!((partial[0].reason.as_str(), partial[0].count), ("too_large", 1));
    assert_eq!(partial[0].files, ["big.ts"]);
}

#[test]
fn symlinks_are_never_followed() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), &[("secret.ts", "export {}")]);
    write(root.path(), &[("a.ts", "")]);
    std::os::unix::fs::symlink(outside.path(), root.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.ts"), root.path().join("file.ts")).unwrap();
    let walked = walk(&Tree::open(root.path(), None).unwrap(), Limits::default());
    assert_eq!(paths(&walked), ["a.ts"]);
    assert_eq!(skipped(walked), pairs(&[("file.ts", "symlink"), ("folder", "symlink")]));
}

#[test]
fn a_cap_leaves_the_first_paths_and_counts_the_others() {
    let files: Vec<(String, &str)> = (0..30).map(|n| (format!("f{n:02}.ts"), "")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let capped = walked(&files, Limits { sources: 5, ..Limits::default() });
    assert_eq!(paths(&capped), ["f00.ts", "f01.ts", "f02.ts", "f03.ts", "f04.ts"]);
    let (skipped, partial) = capped.report.into_parts(&Limits::default());
    assert_eq!(skipped.len(), 25);
    assert_eq!((partial[0].reason.as_str(), partial[0].count, partial[0].files.len()), ("file_cap", 25, 20));
    assert_eq!(partial[0].files[0], "f05.ts");

    let capped = walked(&files, Limits { entries: 10, ..Limits::default() });
    assert!(capped.tree_too_large);
    assert_eq!(capped.candidates.len(), 10);
    assert_eq!(capped.report.into_parts(&Limits::default()).1[0].reason, "tree_too_large");
}

#[test]
fn manifests_are_read_and_are_no_sources() {
    let walked = walked(
        &[
            ("package.json", "{}"),
            ("a/tsconfig.json", "{}"),
            ("node_modules/x/package.json", "{}"),
            ("pnpm-lock.yaml", "x: 1"),
        ],
        Limits::default(),
    );
    assert_eq!(
        walked.manifests.ids().iter().map(|id| id.path.as_str()).collect::<Vec<_>>(),
        ["a/tsconfig.json", "package.json", "pnpm-lock.yaml"]
    );
    assert!(walked.candidates.is_empty());
}
