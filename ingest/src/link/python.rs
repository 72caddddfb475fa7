//! Where an import of Python leads: packages are folders, and what a search starts from is not written down anywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use toml::Value;

/// Modules of the standard library, which no file of a repository stands for.
const STANDARD: &str = "\
    __future__ _thread abc argparse array ast asyncio atexit audioop base64 bdb binascii bisect builtins bz2 \
    calendar cgi cgitb cmath cmd code codecs collections colorsys compileall concurrent configparser contextlib \
    contextvars copy copyreg csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email \
    encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass \
    gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imp importlib inspect io ipaddress itertools \
    json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers \
    opcode operator optparse os pathlib pdb pickle pkgutil platform plistlib poplib posix posixpath pprint profile \
    pstats pty pwd queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve \
    shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct \
    subprocess symtable sys sysconfig syslog tarfile tempfile termios textwrap threading time timeit token tokenize \
    tomllib trace traceback tracemalloc tty types typing unicodedata urllib uuid venv warnings";

/// The folders that imports of a repository start from.
pub(super) struct Packages {
    /// Folders with a manifest, and those that manifests say the packages are in.
    roots: BTreeSet<String>,
}

impl Packages {
    pub(super) fn read(paths: &[&str], manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut roots = BTreeSet::from([String::new(), "src".to_owned()]);
        let scripts = paths.iter().copied().filter(|path| matches!(name(path), "setup.py" | "manage.py"));
        for path in manifests.keys().map(String::as_str).chain(scripts) {
            if !matches!(name(path), "pyproject.toml" | "setup.cfg" | "setup.py" | "manage.py") {
                continue;
            }
            let folder = folder(path);
            roots.insert(folder.to_owned());
            roots.insert(joined(folder, "src"));
            let text = manifests.get(path).map(|bytes| String::from_utf8_lossy(bytes));
            let text = text.as_deref().unwrap_or("");
            let named = if name(path) == "pyproject.toml" { of_project(text) } else { of_setup(text) };
            roots.extend(named.iter().filter(|named| !named.contains("..")).map(|named| joined(folder, named)));
        }
        Self { roots }
    }

    /// The file of a module: of a folder, its `__init__.py`.
    pub(super) fn find(&self, files: &HashMap<String, u32>, from: &str, specifier: &str) -> Option<u32> {
        let path = specifier.trim_start_matches('.');
        let dots = specifier.len() - path.len();
        if dots > 0 {
            let mut base = folder(from);
            for _ in 1..dots {
                if base.is_empty() {
                    return None;
                }
                base = folder(base);
            }
            return module(files, base, path);
        }
        let first = path.split('.').next().unwrap_or(path);
        if STANDARD.split(' ').any(|known| known == first) {
            return None;
        }
        // What is nearer hides what is further: a script's own folder, the folder above its package, its project.
        let mut at = folder(from);
        let mut above_package = false;
        loop {
            let is_package = !at.is_empty() && files.contains_key(&joined(at, "__init__.py"));
            let starts_here = !is_package && !above_package;
            above_package |= !is_package;
            if starts_here || self.roots.contains(at) {
                let found = module(files, at, path).or_else(|| {
                    let source = joined(at, "src");
                    self.roots.contains(&source).then(|| module(files, &source, path)).flatten()
                });
                if found.is_some() {
                    return found;
                }
            }
            if at.is_empty() {
                break;
            }
            at = folder(at);
        }
        // Another project of the repository, where there is only one that has it.
        let mut found = self.roots.iter().filter_map(|root| module(files, root, path));
        let only = found.next()?;
        found.all(|other| other == only).then_some(only)
    }
}

fn module(files: &HashMap<String, u32>, base: &str, path: &str) -> Option<u32> {
    let at = joined(base, &path.replace('.', "/"));
    let package = files.get(&joined(&at, "__init__.py"));
    package.or_else(|| if path.is_empty() { None } else { files.get(&format!("{at}.py")) }).copied()
}

/// What a `pyproject.toml` says of where packages are.
fn of_project(text: &str) -> Vec<String> {
    let Ok(Value::Table(project)) = text.parse::<toml::Table>().map(Value::Table) else { return Vec::new() };
    let tool = project.get("tool");
    let within = |names: &[&str]| names.iter().try_fold(tool?, |at, name| at.get(name));
    let mut all = Vec::new();
    if let Some(folders) = within(&["setuptools", "packages", "find", "where"]).and_then(Value::as_array) {
        all.extend(folders.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    if let Some(folder) = within(&["setuptools", "package-dir"]).and_then(|folders| folders.get("")?.as_str()) {
        all.push(folder.to_owned());
    }
    if let Some(packages) = within(&["poetry", "packages"]).and_then(Value::as_array) {
        all.extend(packages.iter().filter_map(|package| package.get("from")?.as_str()).map(str::to_owned));
    }
    all
}

/// The same of a `setup.cfg`: `package_dir` with `= folder`, and `where = folder`.
fn of_setup(text: &str) -> Vec<String> {
    let value = |line: &str| {
        let (key, value) = line.trim().split_once('=')?;
        matches!(key.trim(), "" | "where").then(|| value.trim().to_owned())
    };
    text.lines().filter_map(value).filter(|folder| !folder.is_empty()).collect()
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn joined(folder: &str, path: &str) -> String {
    let path = path.trim_start_matches("./").trim_matches('/');
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "" | ".") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(paths: &[&str], manifests: &[(&str, &str)], from: &str, specifier: &str) -> Option<String> {
        let files: HashMap<String, u32> = paths.iter().zip(0..).map(|(path, at)| ((*path).to_owned(), at)).collect();
        let manifests = manifests.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        let found = Packages::read(paths, &manifests).find(&files, from, specifier)?;
        Some(paths[found as usize].to_owned())
    }

    #[test]
    fn dots_lead_up_from_the_folder_and_not_out_of_the_repository() {
        let paths = ["app/__init__.py", "app/a.py", "app/sub/__init__.py", "app/sub/b.py"];
        let at = |specifier: &str| find(&paths, &[], "app/sub/b.py", specifier);
        assert_eq!(at(".").as_deref(), Some("app/sub/__init__.py"));
        assert_eq!(at("..").as_deref(), Some("app/__init__.py"));
        assert_eq!(at("..a").as_deref(), Some("app/a.py"));
        assert_eq!(at("...app.a").as_deref(), Some("app/a.py"));
        assert_eq!(at("....app.a"), None);
        assert_eq!(at(".missing"), None);
    }

    #[test]
    fn absolute_imports_start_above_the_package_at_a_project_or_beside_a_script() {
        let paths = [
            "app/__init__.py",
            "app/json.py",
            "app/main.py",
            "app/stripe.py",
            "lib/python/tool/__init__.py",
            "scripts/run.py",
            "scripts/helper.py",
            "services/pay/src/pay/__init__.py",
            "services/pay/src/pay/core.py",
        ];
        let manifests = [
            ("services/pay/pyproject.toml", ""),
            ("lib/pyproject.toml", "[tool.setuptools.packages.find]\nwhere = [\"python\"]"),
        ];
        let at = |from: &str, specifier: &str| find(&paths, &manifests, from, specifier);
        assert_eq!(at("app/main.py", "app.json").as_deref(), Some("app/json.py"));
        assert_eq!(at("app/main.py", "json"), None, "the standard library's");
        assert_eq!(at("app/main.py", "stripe"), None, "a package's own folder is no place to start from");
        assert_eq!(at("scripts/run.py", "helper").as_deref(), Some("scripts/helper.py"));
        assert_eq!(at("services/pay/src/pay/core.py", "pay").as_deref(), Some("services/pay/src/pay/__init__.py"));
        assert_eq!(at("scripts/run.py", "pay.core").as_deref(), Some("services/pay/src/pay/core.py"));
        assert_eq!(at("app/main.py", "tool").as_deref(), Some("lib/python/tool/__init__.py"));
        assert_eq!(at("app/main.py", "requests"), None);
    }

    #[test]
    fn manifests_that_say_nothing_sensible_lead_nowhere() {
        assert_eq!(of_project("tool = 1"), Vec::<String>::new());
        assert_eq!(of_project("[tool.poetry]\npackages = [{include = \"a\", from = \"lib\"}]"), ["lib"]);
        assert_eq!(of_project("not toml ["), Vec::<String>::new());
        assert_eq!(of_setup("[options]\npackage_dir =\n    = source\n"), ["source"]);
    }
}
