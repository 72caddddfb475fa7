//! Which file of an index a reported path means.

use std::cmp::Ordering;

use super::path::prefix_segments;
use super::{Reason, SpanPath};

/// The files of one index, to be looked up by path, by the end of a path, and by content.
///
/// Made once an index and shared by everything that is correlated against it. A look-up costs the segments of the path
/// times the logarithm of the files, whatever the number of candidates. Memory is the text of all paths and content
/// hashes and 32 bytes a file: 6.6 MB for 50,000 files with paths of 60 bytes ([`Files::bytes`]).
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Each path with its content hash behind it, in the order of the paths.
    text: String,
    /// In the order of the paths.
    places: Vec<Place>,
    /// The files in the order of their segments from the last to the first: those with a common end stand together.
    by_end: Vec<u32>,
    /// The files in the order of their content.
    by_content: Vec<u32>,
}

/// Where in the text the path of a file begins, where it ends and its content hash begins, and where that ends.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    middle: usize,
    end: usize,
}

/// How a path was found to mean a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// By a prefix that a person mapped.
    Mapped,
    /// The whole path of the file is the end of the reported one.
    Full,
    /// The end of both is the same: a part of the repository is deployed at a root of its own. Worth offering to a
    /// person as a prefix to map.
    Partial,
}

/// A file of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// In the repository.
    pub path: &'a str,
    /// How it was found.
    pub by: Match,
}

impl Files {
    /// From the paths of an index with the hashes of their content; best in the order of the paths.
    pub fn new<P: AsRef<str>, H: AsRef<str>>(files: impl IntoIterator<Item = (P, H)>) -> Self {
        let mut files: Vec<(P, H)> = files.into_iter().collect();
        files.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
        files.dedup_by(|(a, _), (b, _)| a.as_ref() == b.as_ref());
        let mut made = Self::default();
        made.text.reserve_exact(files.iter().map(|(path, hash)| path.as_ref().len() + hash.as_ref().len()).sum());
        made.places.reserve_exact(files.len());
        for (path, hash) in &files {
            let start = made.text.len();
            made.text.push_str(path.as_ref());
            let middle = made.text.len();
            made.text.push_str(hash.as_ref());
            made.places.push(Place { start, middle, end: made.text.len() });
        }
        let all: Vec<u32> = (0_u32..).take(made.places.len()).collect();
        let mut by_end = all.clone();
        by_end.sort_by(|a, b| made.path(*a).rsplit('/').cmp(made.path(*b).rsplit('/')));
        let mut by_content = all;
        by_content.sort_by(|a, b| made.content(*a).cmp(made.content(*b)));
        Self { by_end, by_content, ..made }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The memory that this takes, for a cache that bounds what it keeps.
    pub fn bytes(&self) -> usize {
        let numbers = (self.by_end.capacity() + self.by_content.capacity()) * size_of::<u32>();
        self.text.capacity() + self.places.capacity() * size_of::<Place>() + numbers
    }

    /// The file at a path of the repository.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.number(path).map(|file| self.path(file))
    }

    /// The hash of the content of the file at a path of the repository.
    pub fn content_of(&self, path: &str) -> Option<&str> {
        self.number(path).map(|file| self.content(file))
    }

    /// The only file with that content: nothing where there are none or several.
    pub fn only_of_content(&self, hash: &str) -> Option<&str> {
        let from = self.by_content.partition_point(|file| self.content(*file) < hash);
        let mut same = self.by_content.get(from..)?.iter().take_while(|file| self.content(**file) == hash);
        match (same.next(), same.next()) {
            (Some(file), None) => Some(self.path(*file)),
            _ => None,
        }
    }

    /// The one file that a reported path means.
    ///
    /// A mapped prefix decides alone. Else a file whose whole path is the end of the reported one; else the one with
    /// the longest common end, of two segments or of all of a relative path. Segments compare as they are written,
    /// since two files may differ in case only.
    ///
    /// # Errors
    /// [`Reason::GeneratedPath`] or [`Reason::FileNotIndexed`] where there is none, [`Reason::AmbiguousFile`] where
    /// there are several.
    pub fn locate(&self, path: &SpanPath, prefixes: &Prefixes) -> Result<Found<'_>, Reason> {
        let none = || if path.looks_generated() { Reason::GeneratedPath } else { Reason::FileNotIndexed };
        if let Some(mapped) = prefixes.map(path) {
            return self.get(&mapped).map(|path| Found { path, by: Match::Mapped }).ok_or_else(none);
        }
        let mut same = 0..self.by_end.len();
        let mut depth = 0;
        let mut whole = Vec::new();
        for segment in path.as_str().rsplit('/') {
            let (Some(files), from) = (self.by_end.get(same.clone()), same.start) else { break };
            let compared = |file: &u32| self.path(*file).rsplit('/').nth(depth).cmp(&Some(segment));
            let start = files.partition_point(|file| compared(file) == Ordering::Less);
            let end = files.partition_point(|file| compared(file) != Ordering::Greater);
            if start == end {
                break;
            }
            same = from + start..from + end;
            depth += 1;
            // What has no more segments stands before what has.
            whole.extend(self.by_end.get(same.start).filter(|file| self.path(**file).split('/').count() == depth));
        }
        let only = match whole.as_slice() {
            [file] => return Ok(Found { path: self.path(*file), by: Match::Full }),
            [] => self.by_end.get(same.start).filter(|_| same.len() == 1),
            _ => return Err(Reason::AmbiguousFile),
        };
        let is_consumed = !path.is_anchored() && depth == path.as_str().split('/').count();
        if depth < 2 && !(depth == 1 && is_consumed) {
            return Err(none());
        }
        only.map(|file| Found { path: self.path(*file), by: Match::Partial }).ok_or(Reason::AmbiguousFile)
    }

    fn number(&self, path: &str) -> Option<u32> {
        let at = self.places.partition_point(|place| self.path_at(*place) < path);
        self.places.get(at).filter(|place| self.path_at(**place) == path)?;
        u32::try_from(at).ok()
    }

    fn path(&self, file: u32) -> &str {
        self.places.get(file as usize).map_or("", |place| self.path_at(*place))
    }

    fn content(&self, file: u32) -> &str {
        self.places.get(file as usize).and_then(|place| self.text.get(place.middle..place.end)).unwrap_or_default()
    }

    fn path_at(&self, place: Place) -> &str {
        self.text.get(place.start..place.middle).unwrap_or_default()
    }
}

/// Prefixes of reported paths that a person mapped to folders of a repository.
#[derive(Debug, Clone, Default)]
pub struct Prefixes(Vec<Prefix>);

#[derive(Debug, Clone)]
struct Prefix {
    from: Vec<String>,
    to: Vec<String>,
}

impl Prefixes {
    /// From pairs of a prefix (`/app`, `C:\svc`, or nothing for every path) and a folder of the repository
    /// (`packages/billing`, or nothing for its root). Of two equal prefixes the first counts.
    pub fn new<F: AsRef<str>, T: AsRef<str>>(pairs: impl IntoIterator<Item = (F, T)>) -> Self {
        let read =
            |(from, to): (F, T)| Prefix { from: prefix_segments(from.as_ref()), to: prefix_segments(to.as_ref()) };
        let mut prefixes: Vec<Prefix> = pairs.into_iter().map(read).collect();
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.from.len()));
        Self(prefixes)
    }

    /// Where in the repository a path lies, by the longest prefix that it has.
    fn map(&self, path: &SpanPath) -> Option<String> {
        let segments: Vec<&str> = path.as_str().split('/').collect();
        let rest_behind = |prefix: &Prefix| {
            let (head, rest) = segments.split_at_checked(prefix.from.len())?;
            head.iter().copied().eq(prefix.from.iter().map(String::as_str)).then_some(rest)
        };
        let (prefix, rest) = self.0.iter().find_map(|prefix| Some((prefix, rest_behind(prefix)?)))?;
        let folder = prefix.to.iter().map(String::as_str);
        Some(folder.chain(rest.iter().copied()).collect::<Vec<_>>().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Files {
        Files::new(paths.iter().map(|path| (*path, format!("hash of {path}"))))
    }

    #[track_caller]
    fn means(files: &Files, path: &str, expected: Result<(&str, Match), Reason>) {
        let found = files.locate(&SpanPath::read(path).unwrap(), &Prefixes::default());
        assert_eq!(found.map(|found| (found.path, found.by)), expected, "{path}");
    }

    #[test]
    fn a_whole_path_at_the_end_goes_before_a_common_end() {
        let files =
            files(&["src/pay/charge.ts", "packages/a/src/x.ts", "packages/b/src/x.ts", "packages/b/src/only.ts"]);
        means(&files, "/app/src/pay/charge.ts", Ok(("src/pay/charge.ts", Match::Full)));
        means(&files, "/usr/src/app/packages/a/src/x.ts", Ok(("packages/a/src/x.ts", Match::Full)));
        means(&files, "/app/src/only.ts", Ok(("packages/b/src/only.ts", Match::Partial)));
        means(&files, "/app/src/x.ts", Err(Reason::AmbiguousFile));
        means(&files, "/app/only.ts", Err(Reason::FileNotIndexed));
        means(&files, "only.ts", Ok(("packages/b/src/only.ts", Match::Partial)));
        means(&files, "x.ts", Err(Reason::AmbiguousFile));
        means(&files, "lib/only.ts", Err(Reason::FileNotIndexed));
        means(&files, "/app/dist/only.js", Err(Reason::GeneratedPath));
    }

    #[test]
    fn segments_are_compared_whole_and_as_written() {
        let files = files(&["src/pay.ts", "Src/Pay.ts", "a/usrc/mail.ts"]);
        means(&files, "/app/src/pay.ts", Ok(("src/pay.ts", Match::Full)));
        means(&files, "/app/Src/Pay.ts", Ok(("Src/Pay.ts", Match::Full)));
        means(&files, "/app/src/Pay.ts", Err(Reason::FileNotIndexed));
        means(&files, "/app/src/mail.ts", Err(Reason::FileNotIndexed));
        means(&files, "/app/src/xpay.ts", Err(Reason::FileNotIndexed));
    }

    #[test]
    fn a_file_at_the_root_means_every_path_that_ends_so() {
        means(&files(&["index.ts", "src/index.ts"]), "/app/src/index.ts", Err(Reason::AmbiguousFile));
        means(&files(&["index.ts", "src/index.ts"]), "/app/index.ts", Ok(("index.ts", Match::Full)));
        means(&files(&[]), "/app/index.ts", Err(Reason::FileNotIndexed));
    }

    #[test]
    fn mapped_prefixes_decide_alone_and_the_longest_first() {
        let files = files(&["src/x.ts", "packages/b/src/x.ts", "packages/c/x.ts"]);
        let mapped = Prefixes::new([("/app", "packages/b/"), (r"C:\app\src", "./packages/c"), ("/app", "never")]);
        let at = |path: &str| files.locate(&SpanPath::read(path).unwrap(), &mapped);
        assert_eq!(at("/app/lib/../src/x.ts"), Ok(Found { path: "packages/c/x.ts", by: Match::Mapped }));
        assert_eq!(at("/app/src/y.ts"), Err(Reason::FileNotIndexed), "no other way is tried");
        assert_eq!(at("/application/src/x.ts").map(|found| found.path), Ok("src/x.ts"), "segments, not letters");
        let everything = Prefixes::new([("", "packages/b")]);
        let found = files.locate(&SpanPath::read("src/x.ts").unwrap(), &everything);
        assert_eq!(found, Ok(Found { path: "packages/b/src/x.ts", by: Match::Mapped }));
        let root = Prefixes::new([("/srv/shop", "")]);
        assert_eq!(files.locate(&SpanPath::read("/srv/shop/src/x.ts").unwrap(), &root).unwrap().path, "src/x.ts");
    }

    #[test]
    fn content_finds_a_file_only_where_one_has_it() {
        let files = Files::new([("b", "1"), ("a", "1"), ("c", "2"), ("c", "2")]);
        assert_eq!((files.len(), files.is_empty()), (3, false));
        assert_eq!((files.content_of("c"), files.content_of("d"), files.get("b")), (Some("2"), None, Some("b")));
        assert_eq!(
            (files.only_of_content("2"), files.only_of_content("1"), files.only_of_content("0")),
            (Some("c"), None, None)
        );
        assert_eq!(Files::default().get(""), None);
    }

    /// Fifty thousand files of a monorepo, where every folder has the same names in it.
    #[test]
    fn many_files_take_the_memory_that_is_said() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let paths = (0..50_000).map(|n| {
            (format!("packages/package-{:04}/src/components/module-{:02}/index-of-it.ts", n / 50, n % 50), hash)
        });
        let files = Files::new(paths);
        assert_eq!(files.len(), 50_000);
        assert!((6_000_000..7_000_000).contains(&files.bytes()), "{}", files.bytes());
        means(
            &files,
            "/srv/packages/package-0777/src/components/module-31/index-of-it.ts",
            Ok(("packages/package-0777/src/components/module-31/index-of-it.ts", Match::Full)),
        );
        means(&files, "/app/src/components/module-31/index-of-it.ts", Err(Reason::AmbiguousFile));
    }
}
