//! Compiler configurations (`tsconfig*.json`, `jsconfig.json`) as the module resolver can use them.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::jsonc;

/// Configurations that one may extend through each other. The resolver recurses with them.
const MAX_DEPTH: usize = 32;
/// Configurations that one may extend itself, and targets that a pattern of `paths` may have.
const MAX_LIST: usize = 32;
/// Patterns of `paths`, and projects that a configuration may refer to. Each is looked at for each import.
const MAX_ENTRIES: usize = 500;

/// What is followed, in words.
pub(crate) fn limits() -> String {
    format!("{MAX_DEPTH} configurations that extend each other, {MAX_ENTRIES} entries a list, {MAX_LIST} an entry")
}

/// The configurations of a repository.
#[derive(Debug, Default)]
pub(super) struct Configs {
    /// Text by repository-relative path.
    pub(super) texts: BTreeMap<String, String>,
    /// Those that are no JSON object, ascending.
    pub(super) unreadable: Vec<String>,
    /// Those that list or extend more than is followed, or extend themselves, ascending.
    pub(super) cut: Vec<String>,
}

struct Config {
    value: Map<String, Value>,
    /// Paths of what it extends, in its order.
    extends: Vec<Extended>,
    is_cut: bool,
}

/// A name as written, and the configuration that it names.
struct Extended {
    name: Value,
    path: String,
}

/// Whether a file is a compiler configuration.
pub(super) fn is_config(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "jsconfig.json" || (name.starts_with("tsconfig") && name.strip_suffix(".json").is_some())
}

impl Configs {
    /// Reads them. `find` gives the file, with a leading `/`, that a path stands for, if there is one.
    pub(super) fn read(manifests: &BTreeMap<String, Vec<u8>>, find: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut configs = Self::default();
        let mut parsed = BTreeMap::new();
        for (path, bytes) in manifests.iter().filter(|(path, _)| is_config(path)) {
            match std::str::from_utf8(bytes).map(jsonc::parse) {
                Ok(Ok(Value::Object(value))) => {
                    parsed.insert(format!("/{path}"), Config::new(path, value, find));
                }
                _ => configs.unreadable.push(path.clone()),
            }
        }
        cut_endless(&mut parsed);
        for (path, mut config) in parsed {
            let path = &path[1..];
            config.write_extends();
            if config.is_cut {
                configs.cut.push(path.to_owned());
            }
            configs.texts.insert(path.to_owned(), Value::Object(config.value).to_string());
        }
        for path in &configs.unreadable {
            configs.texts.insert(path.clone(), "{}".to_owned());
        }
        configs
    }
}

impl Config {
    /// A configuration without what is not here: the resolver gives up wholly on an `extends` that names a package
    /// which is not installed, and the `paths` beside it would be lost with it.
    fn new(path: &str, mut value: Map<String, Value>, find: &dyn Fn(&str) -> Option<String>) -> Self {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut is_cut = false;
        let mut names = match value.remove("extends") {
            Some(Value::Array(names)) => names,
            Some(name) => vec![name],
            None => Vec::new(),
        };
        cut_list(&mut names, MAX_LIST, &mut is_cut);
        let extends = names.into_iter().filter_map(|name| {
            let base = match name.as_str()? {
                text if text.starts_with('.') => format!("/{folder}/{text}"),
                text if text.starts_with('/') => return None,
                text => format!("/node_modules/{text}"),
            };
            let path = [base.clone(), format!("{base}.json"), format!("{base}/tsconfig.json")]
                .iter()
                .find_map(|path| find(path))?;
            Some(Extended { name, path })
        });
        let extends = extends.collect();
        if let Some(Value::Array(references)) = value.get_mut("references") {
            cut_list(references, MAX_ENTRIES, &mut is_cut);
            references.retain(|reference| {
                let path = reference.get("path").and_then(Value::as_str).unwrap_or("");
                let base = format!("/{folder}/{path}");
                [base.clone(), format!("{base}/tsconfig.json")].iter().any(|path| find(path).is_some())
            });
        }
        // What a compiler is told to leave out (tests, mostly) still imports by the same aliases. Only where several
        // projects share a folder do their lists say which one's aliases count.
        value.remove("exclude");
        let several = value.get("references").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        for list in ["include", "files"] {
            if !several {
                value.remove(list);
            } else if let Some(Value::Array(list)) = value.get_mut(list) {
                cut_list(list, MAX_ENTRIES, &mut is_cut);
            }
        }
        // Its aliases count for the JavaScript beside it too, whatever the compiler is told to check.
        if let Value::Object(options) = value.entry("compilerOptions").or_insert_with(|| Value::Object(Map::new())) {
            options.insert("allowJs".to_owned(), Value::Bool(true));
            cut_options(options, &mut is_cut);
        }
        Self { value, extends, is_cut }
    }

    fn write_extends(&mut self) {
        if !self.extends.is_empty() {
            let names = self.extends.drain(..).map(|extended| extended.name).collect();
            self.value.insert("extends".to_owned(), Value::Array(names));
        }
    }
}

fn cut_options(options: &mut Map<String, Value>, is_cut: &mut bool) {
    if let Some(Value::Array(folders)) = options.get_mut("rootDirs") {
        cut_list(folders, MAX_LIST, is_cut);
    }
    let Some(Value::Object(paths)) = options.get_mut("paths") else { return };
    if paths.len() > MAX_ENTRIES {
        *is_cut = true;
        *paths = std::mem::take(paths).into_iter().take(MAX_ENTRIES).collect();
    }
    for targets in paths.values_mut() {
        if let Value::Array(targets) = targets {
            cut_list(targets, MAX_LIST, is_cut);
        }
    }
}

fn cut_list(list: &mut Vec<Value>, most: usize, is_cut: &mut bool) {
    if list.len() > most {
        list.truncate(most);
        *is_cut = true;
    }
}

/// Leaves out what would be extended in a circle, or through more than [`MAX_DEPTH`] others. A configuration counts
/// once all that it extends does, so that after as many rounds what is left has no end.
fn cut_endless(configs: &mut BTreeMap<String, Config>) {
    let mut finite: HashSet<String> = HashSet::new();
    for _ in 0..MAX_DEPTH {
        let more: Vec<String> = configs
            .iter()
            .filter(|(path, config)| {
                let is_finite =
                    |extended: &Extended| finite.contains(&extended.path) || !configs.contains_key(&extended.path);
                !finite.contains(*path) && config.extends.iter().all(is_finite)
            })
            .map(|(path, _)| path.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        finite.extend(more);
    }
    let known: HashSet<String> = configs.keys().cloned().collect();
    for config in configs.values_mut() {
        let before = config.extends.len();
        config.extends.retain(|extended| finite.contains(&extended.path) || !known.contains(&extended.path));
        config.is_cut |= config.extends.len() < before;
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::Modules;
    use super::*;

    fn manifests<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> BTreeMap<String, Vec<u8>> {
        files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn leads(manifests: &BTreeMap<String, Vec<u8>>, specifier: &str) -> Option<&'static str> {
        const PATHS: [&str; 3] = ["src/a.ts", "src/b.ts", "lib/c.ts"];
        Modules::new(&PATHS, manifests).resolve(PATHS[0], specifier).map(|at| PATHS[at as usize])
    }

    /// Which configurations are cut and which unreadable.
    fn problems(manifests: &BTreeMap<String, Vec<u8>>) -> (Vec<String>, Vec<String>) {
        let find =
            |path: &str| manifests.contains_key(path[1..].trim_start_matches("./")).then(|| path.replace("/./", "/"));
        let configs = Configs::read(manifests, &|path| find(&path.replace("//", "/")));
        (configs.cut, configs.unreadable)
    }

    const PATHS: &str = r#""compilerOptions":{"paths":{"@/*":["./src/*"]}}"#;

    #[test]
    fn a_configuration_that_extends_itself_keeps_what_it_says_itself() {
        let own = format!(r#"{{"extends":"./tsconfig.json",{PATHS}}}"#);
        let files = manifests([("tsconfig.json", own.as_str())]);
        assert_eq!(leads(&files, "@/b"), Some("src/b.ts"));
        assert_eq!(problems(&files), (vec!["tsconfig.json".to_owned()], vec![]));

        let circle = format!(r#"{{"extends":["./tsconfig.two.json"],{PATHS}}}"#);
        let files = manifests([
            ("tsconfig.json", circle.as_str()),
            ("tsconfig.two.json", r#"{"extends":"./tsconfig.three"}"#),
            ("tsconfig.three.json", r#"{"extends":"./tsconfig.json"}"#),
        ]);
        assert_eq!(leads(&files, "@/b"), Some("src/b.ts"));
        assert_eq!(problems(&files).0, ["tsconfig.json", "tsconfig.three.json", "tsconfig.two.json"]);
    }

    #[test]
    fn a_chain_is_followed_to_its_limit_and_no_length_of_it_ends_the_process() {
        for (length, expected) in [(MAX_DEPTH - 1, Some("src/b.ts")), (1000, None), (5_000, None)] {
            let mut files = BTreeMap::new();
            for at in 0..length {
                let name = if at == 0 { "tsconfig.json".to_owned() } else { format!("tsconfig.{at}.json") };
                files.insert(name, format!(r#"{{"extends":"./tsconfig.{}.json"}}"#, at + 1).into_bytes());
            }
            files.insert(format!("tsconfig.{length}.json"), format!("{{{PATHS}}}").into_bytes());
            assert_eq!(leads(&files, "@/b"), expected, "{length}");
            assert_eq!(problems(&files).0.is_empty(), expected.is_some(), "{length}");
        }
    }

    #[test]
    fn extending_the_same_many_times_over_ends_soon() {
        let mut files = manifests([("tsconfig.0.json", PATHS)]);
        files.insert("tsconfig.0.json".to_owned(), format!("{{{PATHS}}}").into_bytes());
        for at in 1..MAX_DEPTH {
            let names = vec![format!(r#""./tsconfig.{}.json""#, at - 1); MAX_LIST];
            files.insert(format!("tsconfig.{at}.json"), format!(r#"{{"extends":[{}]}}"#, names.join(",")).into_bytes());
        }
        files.insert(
            "tsconfig.json".to_owned(),
            format!(r#"{{"extends":"./tsconfig.{}.json"}}"#, MAX_DEPTH - 2).into_bytes(),
        );
        assert_eq!(leads(&files, "@/b"), Some("src/b.ts"));
        assert_eq!(problems(&files), (vec![], vec![]));
    }

    #[test]
    fn a_flood_of_paths_is_cut_and_the_first_of_them_count() {
        let mut paths = String::from(r#""@/*":["./src/*"]"#);
        for at in 0..20_000 {
            let _ = write!(paths, r#","x{at}*":["./{at}/*"]"#);
        }
        let targets = vec!["\"./lib/missing*\""; 10_000].join(",");
        let _ = write!(paths, r#","*":[{targets}]"#);
        let text = format!(r#"{{"compilerOptions":{{"paths":{{{paths}}}}}}}"#);
        let files = manifests([("tsconfig.json", text.as_str())]);
        assert_eq!(leads(&files, "@/b"), Some("src/b.ts"));
        assert_eq!(problems(&files).0, ["tsconfig.json"]);

        let text = format!(r#"{{"compilerOptions":{{"paths":{{"@/*":["./src/*"],"*":[{targets}]}}}}}}"#);
        let files = manifests([("tsconfig.json", text.as_str())]);
        assert_eq!((leads(&files, "@/b"), leads(&files, "b")), (Some("src/b.ts"), None));
        assert_eq!(problems(&files).0, ["tsconfig.json"]);
    }

    #[test]
    fn what_is_no_configuration_is_said_and_its_neighbours_are_read() {
        let deep = "[".repeat(100_000);
        let bytes = [
            ("tsconfig.a.json", b"{".to_vec()),
            ("tsconfig.b.json", b"[]".to_vec()),
            ("tsconfig.c.json", b"{\"x\":\"\xff\"}".to_vec()),
            ("tsconfig.d.json", deep.into_bytes()),
            ("tsconfig.e.json", Vec::new()),
            (
                "tsconfig.json",
                format!("\u{feff}{{// comment\r\n\"extends\":[\"./tsconfig.a.json\",3],{PATHS},}}").into_bytes(),
            ),
        ];
        let files: BTreeMap<String, Vec<u8>> = bytes.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        assert_eq!(leads(&files, "@/b"), Some("src/b.ts"));
        let unreadable: Vec<String> = ('a'..='e').map(|name| format!("tsconfig.{name}.json")).collect();
        assert_eq!(problems(&files), (vec![], unreadable));
    }

    #[test]
    fn of_two_of_one_name_the_last_counts() {
        let text = r#"{"compilerOptions":{"paths":{"@/*":["./lib/*"],"@/*":["./src/*"]}}}"#;
        assert_eq!(leads(&manifests([("tsconfig.json", text)]), "@/b"), Some("src/b.ts"));
    }
}
