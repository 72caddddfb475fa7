//! Libraries that make requests to whichever host they are given (`ingest/catalog/http/libraries.json`).

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::error::CatalogError;
use super::outright::{Outright, outright};
use crate::language::Family;

/// The file of this build; part of every catalog.
pub(super) const FILE: (&str, &str) = ("http/libraries.json", include_str!("../../catalog/http/libraries.json"));

const FORMAT: u32 = 1;

/// Every library, found by what code imports or by a global name.
#[derive(Debug, Default)]
pub struct HttpLibraries {
    libraries: Vec<HttpLibrary>,
    by_module: HashMap<Family, HashMap<String, HttpId>>,
    by_global: HashMap<String, HttpId>,
}

/// Position of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HttpId(u16);

/// A library: what importing it gives, and where its calls carry a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpLibrary {
    /// What it is called in evidence.
    pub name: String,
    /// The languages that it is for.
    #[serde(default)]
    pub language: Family,
    /// Import specifiers.
    modules: Vec<String>,
    /// Names that need no import.
    #[serde(default)]
    globals: Vec<String>,
    /// Exported names that are the client itself, as the namespace always is.
    #[serde(default)]
    pub itself: Vec<String>,
    /// A call of the client, where it makes a request.
    pub call: Option<HttpCall>,
    /// Members of the client, or exports, that make a request.
    #[serde(default)]
    pub calls: BTreeMap<String, HttpCall>,
    /// Members or exports that make a further client, each with the index of its options.
    #[serde(default)]
    pub makers: BTreeMap<String, usize>,
    /// Members or exports that `new` makes a further client of, each with the name of the library that has its members.
    #[serde(default)]
    pub constructs: BTreeMap<String, String>,
    /// Members that give the client another base, each with the index of that.
    #[serde(default)]
    pub bases: BTreeMap<String, usize>,
    /// Types whose values are clients.
    #[serde(default)]
    pub types: Vec<String>,
    /// Members that are texts: names of methods.
    #[serde(default)]
    pub constants: BTreeMap<String, String>,
    /// Members or exports that give back their first argument.
    #[serde(default)]
    pub passes: Vec<String>,
    /// Which keys of options say what.
    #[serde(default)]
    pub options: HttpOptions,
    /// Methods of the result whose argument is a part of the request (`post(url).send({ … })`).
    #[serde(default)]
    pub chained: Vec<String>,
    /// The member of a response that holds what the vendor answered.
    pub envelope: Option<String>,
    /// Methods of the result that give that without the envelope.
    #[serde(default)]
    pub readers: Vec<String>,
    /// Whether nothing but methods of a response gives what the vendor answered (`response.json()`).
    #[serde(default)]
    pub answers_by_methods: bool,
    /// Whether a body is written elsewhere (`request.write(…)`).
    #[serde(default)]
    pub hides_body: bool,
    /// Whether the response goes to a callback.
    #[serde(default)]
    pub hides_response: bool,
}

/// Where the arguments of one call carry the request, by index.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpCall {
    /// The method that it always uses.
    pub method: Option<String>,
    /// The argument that names the method.
    pub method_at: Option<usize>,
    /// The URL. Where options may name the target, they may stand in its place.
    pub url: Option<usize>,
    /// The body.
    pub body: Option<usize>,
    /// The options.
    pub options: Option<usize>,
}

/// Which keys of options say what; the method is always `method`, the headers `headers`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpOptions {
    /// The URL.
    #[serde(default)]
    pub url: Vec<String>,
    /// The host, of a URL that is given in pieces.
    #[serde(default)]
    pub host: Vec<String>,
    /// The path of such a URL.
    pub path: Option<String>,
    /// Whether what a client is made with is the URL that precedes that path.
    #[serde(default)]
    pub made_with_base: bool,
    /// What precedes a URL that is not absolute.
    pub base: Option<String>,
    /// How it does.
    #[serde(default)]
    pub join: Join,
    /// Bodies.
    #[serde(default)]
    pub body: Vec<String>,
    /// Queries.
    #[serde(default)]
    pub query: Vec<String>,
    /// An object from URLs as called to their options.
    pub schema: Option<String>,
    /// Whether a request with a body and no method is a `POST`.
    #[serde(default)]
    pub body_means_post: bool,
}

/// How a base and a URL become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// One slash between them, unless the URL is absolute.
    #[default]
    Path,
    /// The same, and whatever the URL is, it continues the base.
    Prefix,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    libraries: Vec<HttpLibrary>,
}

impl HttpLibraries {
    pub(super) fn read(file: &str, text: &str) -> Result<Self, CatalogError> {
        let malformed = |reason: String| CatalogError::Malformed { file: file.to_owned(), reason };
        let wrong = |reason: String| CatalogError::Contradiction { file: file.to_owned(), reason };
        let read: File = serde_json::from_str(text).map_err(|e| malformed(e.to_string()))?;
        if read.format != FORMAT {
            return Err(malformed(format!("format {} is not {FORMAT}", read.format)));
        }
        let mut all = Self { libraries: read.libraries, ..Self::default() };
        for (id, library) in (0..).map(HttpId).zip(&all.libraries) {
            let name = &library.name;
            for module in &library.modules {
                let modules = all.by_module.entry(library.language).or_default();
                if modules.insert(module.clone(), id).is_some() {
                    return Err(wrong(format!("module `{module}` is of two libraries")));
                }
            }
            for global in &library.globals {
                if all.by_global.insert(global.clone(), id).is_some() {
                    return Err(wrong(format!("global `{global}` is of two libraries")));
                }
            }
            if let Some(unknown) =
                library.constructs.values().find(|wanted| !all.libraries.iter().any(|it| it.name == **wanted))
            {
                return Err(wrong(format!("`{name}` constructs `{unknown}`, which is no library here")));
            }
            if library.makers.keys().chain(&library.passes).any(|known| library.calls.contains_key(known)) {
                return Err(wrong(format!("`{name}` has a member that makes a request and something else")));
            }
            for call in library.call.iter().chain(library.calls.values()) {
                if call.method.is_some() && call.method_at.is_some() {
                    return Err(wrong(format!("a call of `{name}` has two methods")));
                }
                let made_for_one = library.options.made_with_base && library.options.path.is_none();
                if call.url.is_none() && !made_for_one && (call.options.is_none() || !library.options.name_the_target())
                {
                    return Err(wrong(format!("a call of `{name}` has no URL")));
                }
            }
        }
        Ok(all)
    }

    /// A library by its position.
    ///
    /// # Panics
    /// Only where the position is of another catalog.
    pub fn library(&self, id: HttpId) -> &HttpLibrary {
        &self.libraries[usize::from(id.0)]
    }

    /// The library of a name.
    pub fn named(&self, name: &str) -> Option<HttpId> {
        (0..).map(HttpId).zip(&self.libraries).find(|(_, library)| library.name == name).map(|(id, _)| id)
    }

    /// The library behind an import specifier.
    pub fn of_module(&self, family: Family, specifier: &str) -> Option<HttpId> {
        let modules = self.by_module.get(&family)?;
        let named = modules.get(specifier).copied();
        if family != Family::Script {
            return named;
        }
        named.or_else(|| match outright(specifier)? {
            Outright { name, inside: "", .. } => modules.get(name).copied(),
            Outright { name, inside, .. } => modules.get(format!("{name}/{inside}").as_str()).copied(),
        })
    }

    /// The library behind a name that no file declares.
    pub fn of_global(&self, name: &str) -> Option<HttpId> {
        self.by_global.get(name).copied()
    }
}

impl HttpLibrary {
    /// Whether a member of the client, or an export, is known.
    pub fn knows(&self, name: &str) -> bool {
        self.calls.contains_key(name)
            || self.makers.contains_key(name)
            || self.bases.contains_key(name)
            || self.constructs.contains_key(name)
            || self.passes.iter().any(|known| known == name)
    }
}

impl HttpOptions {
    /// Whether options can say where a request goes.
    pub fn name_the_target(&self) -> bool {
        !self.url.is_empty() || !self.host.is_empty() || self.made_with_base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_this_build_are_well_formed() {
        let all = HttpLibraries::read(FILE.0, FILE.1).unwrap();
        let axios = all.library(all.of_module(Family::Script, "axios").unwrap());
        assert!(axios.knows("post") && axios.knows("create") && !axios.knows("CancelToken"));
        assert_eq!(all.library(all.of_global("fetch").unwrap()).name, "fetch");
        let requests = all.of_module(Family::Python, "requests").unwrap();
        assert_ne!(Some(requests), all.of_module(Family::Script, "requests"), "a module is of one language");
        assert!(all.of_module(Family::Script, "left-pad").is_none());
    }

    #[test]
    fn files_that_contradict_themselves_are_refused_with_what_is_wrong() {
        let refused = |libraries: &str| {
            let text = format!(r#"{{"format": 1, "libraries": [{libraries}]}}"#);
            HttpLibraries::read("x.json", &text).unwrap_err().to_string()
        };
        let twice = r#"{"name": "a", "modules": ["m"]}, {"name": "b", "modules": ["m"]}"#;
        assert!(refused(twice).contains("module `m` is of two libraries"));
        let targetless = r#"{"name": "a", "modules": ["m"], "call": {"options": 0}}"#;
        assert!(refused(targetless).contains("a call of `a` has no URL"));
        assert!(refused(r#"{"name": "a"}"#).contains("missing field `modules`"));
        assert!(HttpLibraries::read("x.json", r#"{"format": 2, "libraries": []}"#).is_err());
    }
}
