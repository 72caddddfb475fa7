//! What manifests and modules say of each other: in circles, and differently from one index to the next.

use std::fmt::Write as _;

use super::cache::{cache_folder, warm};
use super::repository::Repository;
use super::{Snapshot, snapshot_of};

/// Targets of the imports of a file, and the callees of its calls.
fn leads(snapshot: &Snapshot, path: &str) -> (Vec<Option<String>>, Vec<String>) {
    let facts = snapshot.files.iter().find(|facts| facts.path == path).unwrap();
    let imports = facts.imports.iter().map(|import| import.target.clone()).collect();
    (imports, facts.edges.iter().map(|edge| edge.to.clone()).collect())
}

#[test]
fn an_edit_of_manifests_alone_leads_imports_elsewhere_without_parsing() {
    let library =
        |exports: &str| format!(r##"{{"name":"@acme/lib","exports":{exports},"imports":{{"#x":"./src/one.ts"}}}}"##);
    let folder = Repository::with(&[
        ("app/a.ts", "import { run } from '@acme/lib/x';\nexport const a = () => run();\n"),
        ("lib/src/one.ts", "export const run = () => 1;\n"),
        ("lib/src/two.ts", "export const run = () => 2;\n"),
        ("lib/src/own.ts", "import { run } from '#x';\nexport const own = () => run();\n"),
        ("lib/package.json", &library(r#"{"./x":"./src/one.ts"}"#)),
    ]);
    let (_held, cache) = cache_folder();
    let one = (vec![Some("lib/src/one.ts".to_owned())], vec!["lib/src/one.ts#run#0".to_owned()]);
    let two = (vec![Some("lib/src/two.ts".to_owned())], vec!["lib/src/two.ts#run#0".to_owned()]);
    let none = (vec![None], vec![]);
    let first = warm(folder.path(), &cache);
    assert_eq!(first.counts(), (4, 0));
    let first = Snapshot::read(first.bytes);
    assert_eq!((leads(&first, "app/a.ts"), leads(&first, "lib/src/own.ts")), (one.clone(), one.clone()));
    for (exports, expected) in [
        (r#"{"./x":"./src/two.ts"}"#, &two),
        (r#"{"./x":null,"./*":"./src/one.ts"}"#, &none),
        (r#"{"./x":{"browser":"./src/one.ts","default":"./src/two.ts"}}"#, &two),
        (r#"{"./x":{"node":"./src/one.ts","default":"./src/two.ts"}}"#, &one),
        (r#"{"./x":"../app/a.ts"}"#, &none),
        (r#"{"./*":["./src/one.ts","./src/two.ts"]}"#, &one),
    ] {
        folder.write("lib/package.json", library(exports).as_bytes());
        let made = warm(folder.path(), &cache);
        assert_eq!(made.counts(), (0, 4), "{exports}");
        let snapshot = Snapshot::read(made.bytes);
        assert_eq!(leads(&snapshot, "app/a.ts"), *expected, "{exports}");
        assert_eq!(leads(&snapshot, "lib/src/own.ts"), one, "its own imports stay");
        let unchanged = |path: &str| {
            let hash = |snapshot: &Snapshot| {
                snapshot.files.iter().find(|facts| facts.path == path).map(|facts| facts.facts_hash.clone())
            };
            hash(&snapshot) == hash(&first)
        };
        assert!(unchanged("lib/src/one.ts") && unchanged("lib/src/own.ts"));
    }
}

#[test]
fn an_edit_of_a_lockfile_alone_moves_the_version_of_clients_without_parsing() {
    let lock = |version: &str| format!(r#"{{"packages":{{"node_modules/stripe":{{"version":"{version}"}}}}}}"#);
    let folder = Repository::with(&[
        ("a.ts", "import Stripe from 'stripe';\nnew Stripe('k').charges.create({});\n"),
        ("package.json", r#"{"dependencies":{"stripe":"^16"}}"#),
        ("package-lock.json", &lock("16.1.0")),
    ]);
    let (_held, cache) = cache_folder();
    let version = |bytes: Vec<u8>| Snapshot::read(bytes).header.clients[0].sdk_version.clone();
    assert_eq!(version(warm(folder.path(), &cache).bytes).as_deref(), Some("16.1.0"));
    for (text, expected) in [(lock("16.2.0"), "16.2.0"), ("{".to_owned(), "^16"), (lock("16.3.0"), "16.3.0")] {
        folder.write("package-lock.json", text.as_bytes());
        let made = warm(folder.path(), &cache);
        assert_eq!(made.counts(), (0, 1));
        assert_eq!(version(made.bytes).as_deref(), Some(expected));
    }
}

#[test]
fn modules_that_hand_each_other_on_in_circles_give_what_they_have() {
    let folder = Repository::with(&[]);
    let ring = 1_500;
    for n in 0..ring {
        let mut text =
            format!("export * from './f{}';\nexport {{ missing }} from './f{}';\n", (n + 1) % ring, (n + 7) % ring);
        if n == 20 {
            text.push_str("export const found = () => 1;\n");
        }
        let _ = writeln!(text, "export * as all{n} from './f{n}';");
        folder.write(&format!("f{n}.ts"), text.as_bytes());
    }
    folder.write(
        "use.ts",
        b"import { found, missing, absent } from './f0';\nexport const use = () => { found(); missing(); absent(); };\n",
    );
    folder.write(
        "self.ts",
        b"export * from './self';\nexport { self } from './self';\nimport { self } from './self';\nself();\n",
    );
    let snapshot = snapshot_of(folder.path(), &[]);
    let (imports, callees) = leads(&snapshot, "use.ts");
    assert_eq!(imports, [Some("f0.ts".to_owned())]);
    assert_eq!(callees, ["f20.ts#found#0"]);
    assert_eq!(leads(&snapshot, "self.ts").1, Vec::<String>::new());
    assert!(!snapshot.header.partial);
}
