//! A path as a runtime reports it, made comparable with the paths of an index.

use std::borrow::Cow;

use super::Reason;

/// A path longer than this is none that a runtime reports.
pub const MAX_PATH_BYTES: usize = 4096;

/// Words before `://` that are put before the path of a source file.
const SCHEMES: [&str; 7] = ["webpack-internal", "webpack", "turbopack", "app", "file", "vite", "rsc"];
/// Those that put `?<hash>` of a loader behind it.
const WITH_LOADERS: [&str; 4] = ["webpack", "webpack-internal", "vite", "turbopack"];
/// How names begin that runtimes give to code that is no file.
const SYNTHETIC: [&str; 9] = ["<", "[", "node:", "internal/", "evalmachine", "data:", "blob:", "http://", "https://"];
/// Folders into which package managers put what others wrote.
const VENDORED: [&[&str]; 9] = [
    &["node_modules"],
    &["site-packages"],
    &["dist-packages"],
    &["bower_components"],
    &[".yarn"],
    &[".pnpm"],
    &[".cargo", "registry"],
    &["go", "pkg", "mod"],
    &["gems"],
];

/// A path without what machines, bundlers and operating systems add to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanPath {
    path: String,
    anchored: bool,
}

impl SpanPath {
    /// Reads a path as reported.
    ///
    /// # Errors
    /// [`Reason::BadPath`], [`Reason::SyntheticPath`] or [`Reason::ThirdPartyPath`].
    pub fn read(reported: &str) -> Result<Self, Reason> {
        if reported.is_empty() || reported.len() > MAX_PATH_BYTES {
            return Err(Reason::BadPath);
        }
        let (text, is_file_url) = without_scheme(reported)?;
        // Percent signs can hide a NUL, so that it is looked for when they are read.
        if text.contains('\0') {
            return Err(Reason::BadPath);
        }
        let text = with_slashes(&text);
        let without_drive = without_drive(&text);
        let anchored = is_file_url || without_drive.starts_with('/');
        let written: Vec<&str> = named(without_drive).collect();
        let folded = folded(&written);
        // Both, since what is folded away can hide such a folder, and can also be what makes one.
        if is_vendored(&written) || is_vendored(&folded) {
            return Err(Reason::ThirdPartyPath);
        }
        if folded.is_empty() {
            return Err(Reason::BadPath);
        }
        Ok(Self { path: folded.join("/"), anchored })
    }

    /// With `/` between the segments, none of them empty, `.` or `..`, and none before the first.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Whether it was absolute: its first segments are then of a machine.
    pub const fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// Whether it is the output of a build, by where it lies and what it is called. Asked only where no file of the
    /// index is meant, since some repositories keep code in such folders.
    pub fn looks_generated(&self) -> bool {
        let (folders, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let is_script = [".js", ".cjs", ".mjs"].iter().any(|ending| name.ends_with(ending));
        let is_bundle = ["bundle.js", "bundle.cjs", "bundle.mjs"].contains(&name);
        let is_minified = [".min.js", ".min.cjs", ".min.mjs"].iter().any(|ending| name.ends_with(ending));
        is_script && (is_bundle || is_minified || folders.split('/').any(is_output_folder))
    }
}

/// The segments of a prefix that a person wrote down, in the form in which those of a [`SpanPath`] are.
pub(super) fn prefix_segments(text: &str) -> Vec<String> {
    let text = with_slashes(text);
    let written: Vec<&str> = named(without_drive(&text)).collect();
    folded(&written).into_iter().map(str::to_owned).collect()
}

/// What stands behind the scheme, and whether that was `file:`.
fn without_scheme(reported: &str) -> Result<(Cow<'_, str>, bool), Reason> {
    let scheme = SCHEMES
        .into_iter()
        .find(|scheme| reported.strip_prefix(scheme).is_some_and(|behind| behind.starts_with("://")));
    let Some(scheme) = scheme else {
        let synthetic = SYNTHETIC.iter().any(|start| reported.starts_with(start));
        return if synthetic { Err(Reason::SyntheticPath) } else { Ok((Cow::Borrowed(reported), false)) };
    };
    let behind = reported.get(scheme.len() + 3..).unwrap_or_default();
    if scheme == "file" {
        let path = decoded(behind.strip_prefix("localhost").unwrap_or(behind))?;
        let is_drive = path.strip_prefix('/').is_some_and(|rest| without_drive(rest) != rest);
        return Ok((if is_drive { Cow::Owned(path[1..].to_owned()) } else { path }, true));
    }
    // The name of the bundle, then the layer it was built for: `webpack://_N_E/(rsc)/./src/charge.ts`.
    let path = behind.split_once('/').map_or(reported, |(_, path)| path);
    let path = without_layer(path);
    let path = if WITH_LOADERS.contains(&scheme) { without_query(path) } else { path };
    Ok((Cow::Borrowed(path), false))
}

/// `%20` and the like read, once.
fn decoded(text: &str) -> Result<Cow<'_, str>, Reason> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let digit = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            out.push(high * 16 + low);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| Reason::BadPath)
}

/// `(rsc)/src/a.ts` without its first segment.
fn without_layer(path: &str) -> &str {
    let layer = path.strip_prefix('(').and_then(|rest| rest.split_once(")/"));
    match layer {
        Some((name, rest)) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') => rest,
        _ => path,
    }
}

/// Without the `?` of a loader in the last segment.
fn without_query(path: &str) -> &str {
    let last = path.rfind('/').map_or(0, |at| at + 1);
    path.get(last..).and_then(|name| name.find('?')).and_then(|at| path.get(..last + at)).unwrap_or(path)
}

/// As written on a system that separates with `/`.
fn with_slashes(text: &str) -> Cow<'_, str> {
    if text.contains('\\') { Cow::Owned(text.replace(r"\\?\", "").replace('\\', "/")) } else { Cow::Borrowed(text) }
}

/// Without `C:`.
fn without_drive(text: &str) -> &str {
    match text.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => &text[2..],
        _ => text,
    }
}

/// The segments that say something.
fn named(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !matches!(*segment, "" | "."))
}

/// Without `..` and what it leaves; above the root is the root.
fn folded<'a>(segments: &[&'a str]) -> Vec<&'a str> {
    let mut out = Vec::with_capacity(segments.len());
    for segment in segments {
        if *segment == ".." {
            out.pop();
        } else {
            out.push(*segment);
        }
    }
    out
}

/// Whether it lies in what a package manager brought. `vendor` is also what people call a folder of their own code
/// for vendors, so that there a package has to stand in it.
fn is_vendored(segments: &[&str]) -> bool {
    let managed = VENDORED.iter().any(|folder| segments.windows(folder.len()).any(|found| found == *folder));
    let packages = segments.split_last().map_or(&[][..], |(_, folders)| folders);
    managed || packages.windows(2).any(|found| found[0] == "vendor")
}

/// `dist`, `build-es2015` and so on.
fn is_output_folder(name: &str) -> bool {
    ["dist", "build", "out", "lib", ".next", ".output", "bundle"].iter().any(|folder| {
        name.strip_prefix(folder).is_some_and(|rest| match rest.strip_prefix('-') {
            Some(variant) => {
                !variant.is_empty() && variant.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            }
            None => rest.is_empty(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<(String, bool), Reason> {
        SpanPath::read(path).map(|read| (read.path, read.anchored))
    }

    #[track_caller]
    fn reads(path: &str, expected: &str, anchored: bool) {
        assert_eq!(read(path), Ok((expected.to_owned(), anchored)), "{path}");
    }

    #[test]
    fn what_machines_and_bundlers_add_is_taken_off() {
        reads("/app/src/a.ts", "app/src/a.ts", true);
        reads("src/a.ts", "src/a.ts", false);
        reads("./src//x/./../a.ts", "src/a.ts", false);
        reads("/../../etc/../src/a.ts", "src/a.ts", true);
        reads(r"C:\svc\src\a.ts", "svc/src/a.ts", true);
        reads(r"c:src\a.ts", "src/a.ts", false);
        reads(r"\\?\C:\svc\src\a.ts", "svc/src/a.ts", true);
        reads(r"\\build01\share\src\a.ts", "build01/share/src/a.ts", true);
        reads("file:///app/src/a.ts", "app/src/a.ts", true);
        reads("file://localhost/app/src/a.ts", "app/src/a.ts", true);
        reads("file:///C:/svc/src/a.ts", "svc/src/a.ts", true);
        reads("file:///app/my%20src/%C3%A4.ts", "app/my src/ä.ts", true);
        reads("webpack://checkout/./src/a.ts?1a2b", "src/a.ts", false);
        reads("webpack-internal:///(rsc)/./src/a.ts", "src/a.ts", false);
        reads("webpack://_N_E/(action-browser)/./src/a.ts", "src/a.ts", false);
        reads("turbopack:///[project]/src/a.ts", "[project]/src/a.ts", false);
        reads("app:///src/a.ts", "src/a.ts", false);
        reads("/app/app/(shop)/[slug]/page.tsx", "app/app/(shop)/[slug]/page.tsx", true);
    }

    #[test]
    fn percent_signs_are_read_once_and_only_in_urls() {
        reads("file:///app/a%2541.ts", "app/a%41.ts", true);
        reads("/app/a%20b.ts", "app/a%20b.ts", true);
        reads("file:///app/100%.ts", "app/100%.ts", true);
        reads("file:///app/%2e%2e/src/a.ts", "src/a.ts", true);
        assert_eq!(read("file:///app/a%00.ts"), Err(Reason::BadPath));
        assert_eq!(read("file:///app/%ff.ts"), Err(Reason::BadPath));
        reads("webpack://x/what?/a.ts", "what?/a.ts", false);
        reads("app:///a.ts?b", "a.ts?b", false);
    }

    #[test]
    fn what_is_no_path() {
        for path in ["", "/", ".", "./..", "C:", "a\0b", "file://", "file:///"] {
            assert_eq!(read(path), Err(Reason::BadPath), "{path}");
        }
        assert_eq!(read(&"a".repeat(4097)), Err(Reason::BadPath));
        assert!(read(&"a".repeat(4096)).is_ok());
        assert_eq!(read(&"é".repeat(2049)), Err(Reason::BadPath), "bytes are counted");
    }

    #[test]
    fn what_is_no_file() {
        for path in [
            "node:internal/deps/undici/undici",
            "internal/process/task_queues.js",
            "<anonymous>",
            "<frozen importlib._bootstrap>",
            "[native code]",
            "[eval]",
            "evalmachine.<anonymous>",
            "data:text/javascript,x",
            "blob:nodedata:1",
            "https://cdn.example/app.js",
            "http://localhost:3000/src/a.ts",
        ] {
            assert_eq!(read(path), Err(Reason::SyntheticPath), "{path}");
        }
    }

    #[test]
    fn what_others_wrote() {
        for path in [
            "/app/node_modules/stripe/src/net/NodeHttpClient.ts",
            "node_modules/x.js",
            "/app/vendor/guzzlehttp/guzzle/src/Client.php",
            "/app/vendor//x/y.php",
            "/repo/node_modules/.pnpm/stripe@1/node_modules/stripe/lib.js",
            "/repo/.pnpm/stripe@1/lib.js",
            "/app/.yarn/cache/stripe.zip/lib.js",
            "/usr/lib/python3/dist-packages/stripe/http.py",
            r"C:\venv\Lib\site-packages\stripe\http.py",
            "/root/go/pkg/mod/github.com/x/y.go",
            "/home/me/.cargo/registry/src/reqwest/lib.rs",
            "/usr/lib/ruby/gems/stripe/lib.rb",
            "/app/node_modules/../src/a.ts",
            "/x/go/y/../pkg/mod/a.go",
            "file:///app/node%5Fmodules/x/a.js",
            "webpack://shop/./node_modules/stripe/esm/net.js",
        ] {
            assert_eq!(read(path), Err(Reason::ThirdPartyPath), "{path}");
        }
        for path in [
            "/app/vendor/stripe.ts",
            "/app/vendors/x/y.ts",
            "/app/src/node_modules.ts",
            "/app/gems.rb",
            "/pkg/mod/a.go",
        ] {
            assert!(read(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn builds_are_known_by_folder_and_name() {
        let generated = |path: &str| SpanPath::read(path).unwrap().looks_generated();
        for path in [
            "/app/dist/a.js",
            "/app/dist-min/bundle.js",
            "/app/build-es2015/a.mjs",
            "/app/.next/server/a.js",
            "/app/lib/a.cjs",
            "/app/a.min.js",
            "/app/bundle.cjs",
        ] {
            assert!(generated(path), "{path}");
        }
        for path in [
            "/app/dist/a.ts",
            "/app/src/a.js",
            "/app/dist.js",
            "/app/distance/a.js",
            "/app/dist-/a.js",
            "/app/dist-X/a.js",
        ] {
            assert!(!generated(path), "{path}");
        }
    }
}
