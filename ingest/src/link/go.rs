//! Where an import of Go leads: the path of a module is in its `go.mod`, and a package is a folder below it.

use std::collections::{BTreeMap, HashMap};

use crate::language::Language;

/// The modules of a repository.
pub(super) struct Modules {
    /// Folders by the path of their module, and what `replace` puts in the place of others.
    roots: BTreeMap<String, String>,
    /// A file of each folder with files of Go: not of its tests, where there is another one.
    folders: HashMap<String, u32>,
    /// All of them, ascending.
    files: HashMap<String, Vec<u32>>,
}

impl Modules {
    pub(super) fn read(paths: &[&str], manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut roots = BTreeMap::new();
        for (path, bytes) in manifests.iter().filter(|(path, _)| name(path) == "go.mod") {
            let (text, folder) = (String::from_utf8_lossy(bytes), folder(path));
            for line in text.lines().map(|line| line.split("//").next().unwrap_or("").trim()) {
                if let Some(module) = line.strip_prefix("module ") {
                    roots.insert(module.trim().trim_matches('"').to_owned(), folder.to_owned());
                }
                // `replace example.com/a => ../a`
                let replaced = line.strip_prefix("replace ").unwrap_or(line).split_once("=>");
                if let Some((module, place)) = replaced.map(|(module, place)| (module.trim(), place.trim()))
                    && place.starts_with('.')
                    && let Some(place) = below(folder, place)
                {
                    let module = module.split(' ').next().unwrap_or(module);
                    roots.entry(module.to_owned()).or_insert(place);
                }
            }
        }
        let mut folders: HashMap<String, u32> = HashMap::new();
        let mut files: HashMap<String, Vec<u32>> = HashMap::new();
        for (path, at) in paths.iter().zip(0..).filter(|(path, _)| Language::of_path(path) == Some(Language::Go)) {
            files.entry(folder(path).to_owned()).or_default().push(at);
            let known = folders.entry(folder(path).to_owned()).or_insert(at);
            if paths[*known as usize].ends_with("_test.go") && !path.ends_with("_test.go") {
                *known = at;
            }
        }
        Self { roots, folders, files }
    }

    /// The files of Go in the folder of a file.
    pub(super) fn package(&self, from: &str) -> &[u32] {
        self.files.get(folder(from)).map_or(&[], Vec::as_slice)
    }

    /// A file of the package that a specifier names; of the file's own package, the file itself.
    pub(super) fn find(&self, files: &HashMap<String, u32>, from: &str, specifier: &str) -> Option<u32> {
        if specifier == "." {
            return files.get(from).copied();
        }
        // The longest path of a module counts.
        let mut module = specifier;
        loop {
            if let Some(root) = self.roots.get(module) {
                let rest = specifier[module.len()..].trim_start_matches('/');
                let folder =
                    if root.is_empty() || rest.is_empty() { format!("{root}{rest}") } else { format!("{root}/{rest}") };
                return self.folders.get(&folder).copied();
            }
            module = folder(module);
            if module.is_empty() {
                return None;
            }
        }
    }
}

/// A relative path from a folder; `None` where it leads out of the repository.
fn below(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_module_counts_and_replacements_stay_in_the_repository() {
        let paths = ["a/x_test.go", "a/y.go", "main.go", "tools/gen/z.go", "local/w.go"];
        let manifests = [
            (
                "go.mod",
                "module example.com/app // the app\n\nreplace (\n\texample.com/w v1.0.0 => ./local\n\texample.com/o => ../out\n)\n",
            ),
            ("tools/go.mod", "module example.com/app/tools\n"),
        ];
        let manifests = manifests.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        let files: HashMap<String, u32> = paths.iter().zip(0..).map(|(path, at)| ((*path).to_owned(), at)).collect();
        let modules = Modules::read(&paths, &manifests);
        let find = |specifier: &str| modules.find(&files, "main.go", specifier).map(|at| paths[at as usize]);
        assert_eq!(find("example.com/app"), Some("main.go"));
        assert_eq!(find("example.com/app/a"), Some("a/y.go"));
        assert_eq!(find("example.com/app/tools/gen"), Some("tools/gen/z.go"));
        assert_eq!(find("example.com/w"), Some("local/w.go"));
        assert_eq!(find("."), Some("main.go"));
        for specifier in ["example.com/o", "example.com/appendix", "fmt", "example.com/app/missing"] {
            assert_eq!(find(specifier), None, "{specifier}");
        }
    }
}
