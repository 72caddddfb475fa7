//! The catalog: which import gives a vendor's client, and which member of it requests which operation.
//!
//! One data file a vendor (`ingest/catalog/*.json`, described in the README beside them) is embedded in the binary.

mod check;
mod embedded;
mod error;
mod file;
mod http;
mod load;
mod model;
pub mod openapi;
mod ordered;
mod outright;
mod parts;
mod read;
pub mod record;
mod route;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use sync_core::operation::Operation;

pub use check::check;
pub use error::CatalogError;
pub use http::{HttpCall, HttpId, HttpLibraries, HttpLibrary, HttpOptions, Join};
pub use model::{
    Arguments, ByKey, ChainSegment, ClientOptions, ClientShape, Dispatch, Edition, Entry, Meaning, Module,
    OperationEntry, Package, PackageId, Server, Shape, ShapeId, Source, Suffix, SuffixKind, UrlPart, UrlPattern,
    Vendor, VendorId, chain_text,
};
use outright::{Outright, outright};
use route::{Route, Segment};

/// Vendor facts, resolved and indexed.
#[derive(Debug)]
pub struct Catalog {
    version: String,
    vendors: Vec<Vendor>,
    packages: Vec<Package>,
    shapes: Vec<Shape>,
    modules: Vec<Module>,
    /// Import specifier → index of its module.
    specifiers: HashMap<String, usize>,
    entries: Vec<Entry>,
    routes: Vec<VendorRoutes>,
    hosts: Vec<(Server, VendorId)>,
    http: HttpLibraries,
    /// Literal segments of all routes by their digests, sorted, where the build made them.
    known_words: &'static [(u64, &'static str)],
    /// The same, made when first asked for.
    words: OnceLock<HashMap<u64, String>>,
}

/// The templates of a vendor, read when a request to one of its hosts is first met.
#[derive(Debug)]
struct VendorRoutes {
    /// Those that no package reaches.
    lines: Cow<'static, str>,
    read: OnceLock<Vec<Route>>,
}

impl Catalog {
    /// The catalog of this build.
    pub fn embedded() -> Result<&'static Self, &'static CatalogError> {
        static EMBEDDED: OnceLock<Result<Catalog, CatalogError>> = OnceLock::new();
        EMBEDDED.get_or_init(load::from_embedded).as_ref()
    }

    /// The catalog of a folder of vendor files.
    pub fn load(dir: &Path) -> Result<Self, CatalogError> {
        load::from_folder(dir)
    }

    /// A hash over its files, 16 hexadecimal digits.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What an import of this specifier gives, if it is of a vendor's package.
    pub fn module(&self, specifier: &str) -> Option<&Module> {
        let named = |specifier: &str| self.specifiers.get(specifier).map(|index| &self.modules[*index]);
        named(specifier).or_else(|| match outright(specifier)? {
            Outright { name, inside: "", .. } => named(name),
            Outright { name, inside, .. } => named(&format!("{name}/{inside}")),
        })
    }

    /// The version that a specifier asks for by itself (`npm:stripe@17`, `https://esm.sh/stripe@17.7.0`).
    pub fn version_in<'s>(&self, specifier: &'s str) -> Option<&'s str> {
        // What the catalog knows by its whole name has none in it.
        if self.specifiers.contains_key(specifier) { None } else { outright(specifier)?.version }
    }

    /// The packages whose version is asked for.
    pub fn pinned(&self) -> HashSet<&str> {
        let named = self.packages.iter().map(|package| package.name.as_str());
        let named = named.chain(self.modules.iter().map(|module| module.pinned_as.as_str()));
        named.chain(self.entries.iter().map(|entry| entry.specifier.as_str())).collect()
    }

    /// The functions that packages find by the name under which a file exports them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The package whose clients an import of this specifier gives.
    pub fn package(&self, specifier: &str) -> Option<&Package> {
        self.module(specifier).map(|module| self.package_of(module.package))
    }

    /// A package by its index.
    ///
    /// # Panics
    /// Only where the index is of another catalog.
    pub fn package_of(&self, id: PackageId) -> &Package {
        &self.packages[usize::from(id.0)]
    }

    /// A vendor by its index.
    ///
    /// # Panics
    /// Only where the index is of another catalog.
    pub fn vendor(&self, id: VendorId) -> &Vendor {
        &self.vendors[usize::from(id.0)]
    }

    /// A shape by its index.
    ///
    /// # Panics
    /// Only where the index is of another catalog.
    pub fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// What a value imported under this name is: a name, `default`, or `*` for the namespace's own value
    /// ([`Module::itself`], which is also what `require(…)` gives where it is called or constructed).
    pub fn exported(&self, specifier: &str, name: &str) -> Option<ShapeId> {
        let module = self.module(specifier)?;
        if name == "*" { module.itself } else { module.exports.get(name).copied() }
    }

    /// What a value is whose declared type was imported under this name: a listed type, or what the exported class of
    /// that name constructs.
    pub fn declared(&self, specifier: &str, name: &str) -> Option<ShapeId> {
        let module = self.module(specifier)?;
        if let Some(shape) = module.types.get(name) {
            return Some(*shape);
        }
        let class = if name == "*" { module.itself? } else { *module.exports.get(name)? };
        self.shape(class).construct
    }

    /// The recorded version that stands for a pinned version of a module's package: the same or the nearest lower
    /// one, else the lowest; the newest where nothing is pinned. An index into [`Package::editions`].
    pub fn edition(&self, module: &Module, pinned: Option<&str>) -> usize {
        let package = self.package_of(module.package);
        let newest = package.editions.len().saturating_sub(1);
        let Some(version) = pinned.and_then(text::lowest_version) else { return newest };
        let version = if module.versions.is_empty() {
            version
        } else {
            match module.versions.iter().rev().find(|(from, _)| *from <= version).or_else(|| module.versions.first()) {
                Some((_, edition)) => edition.clone(),
                None => return newest,
            }
        };
        package.editions.iter().rposition(|edition| edition.version.major <= version.major).unwrap_or(0)
    }

    /// The operation that a chain requests at a version of the package, suffixes (paging, wrappers) included.
    pub fn operation(
        &self,
        package: &Package,
        version: Option<&str>,
        chain: &[ChainSegment],
    ) -> Option<OperationEntry> {
        let edition = package.edition(version);
        match package.meaning(edition, &chain_text(chain)) {
            Meaning::Operation(entry, _) => Some(entry.clone()),
            _ => None,
        }
    }

    /// The operation that a plain HTTP request reaches: the host must be a vendor's server, the path must match
    /// exactly one most specific template and the method must be the template's (or `HEAD` of a `GET`).
    pub fn route(&self, method: &str, url: &UrlPattern) -> Option<(&Vendor, Operation)> {
        let host = url.host.to_ascii_lowercase();
        let mut found: Option<(&Vendor, Operation)> = None;
        for (server, vendor) in self.hosts.iter().filter(|(server, _)| server.covers(&host)) {
            let routes = self.routes_of(*vendor);
            let found_by = |method: &str| route::find(routes, server, method, &url.path);
            let is_get = method.eq_ignore_ascii_case("GET") && self.vendor(*vendor).get_as_post;
            let operation = found_by(method).or_else(|| is_get.then(|| found_by("POST")).flatten());
            let Some(operation) = operation else { continue };
            match &found {
                Some((_, known)) if *known != operation => return None,
                Some(_) => {}
                None => found = Some((self.vendor(*vendor), operation)),
            }
        }
        found
    }

    /// The operation that a route written out for a vendor's client names: `POST /repos/{owner}/{repo}/issues`, with
    /// parameters as `{x}` or `:x`, or with values in their places.
    pub fn route_text(&self, vendor: VendorId, method: &str, path: &[UrlPart]) -> Option<Operation> {
        route::find(self.routes_of(vendor), &Server::any(), method, path)
    }

    /// The vendor that answers at a host.
    pub fn vendor_of_host(&self, host: &str) -> Option<&Vendor> {
        let host = host.to_ascii_lowercase();
        self.hosts.iter().find(|(server, _)| server.covers(&host)).map(|(_, vendor)| self.vendor(*vendor))
    }

    /// The libraries that make plain requests.
    pub fn http(&self) -> &HttpLibraries {
        &self.http
    }

    /// The segment of a path that this is the digest of, where a vendor has such a path. Most words of a source are
    /// kept as digests only; those that a vendor publishes as parts of its URLs are no secret.
    pub fn word(&self, digest: u64) -> Option<&str> {
        if !self.known_words.is_empty() {
            let found = self.known_words.binary_search_by_key(&digest, |(known, _)| *known).ok()?;
            return self.known_words.get(found).map(|(_, word)| *word);
        }
        let words = self.words.get_or_init(|| {
            let routes = self.all_routes().flat_map(|(_, routes)| routes);
            let literals = routes.flat_map(|route| &route.segments);
            let literals = literals.filter_map(|segment| match segment {
                Segment::Literal(text) => Some(text),
                _ => None,
            });
            let distinct: std::collections::HashSet<&String> = literals.collect();
            distinct.into_iter().map(|text| (crate::parse::digest(text), text.clone())).collect()
        });
        words.get(&digest).map(String::as_str)
    }

    /// The templates of a vendor. Those that cannot be read were refused when the catalog was loaded or built.
    fn routes_of(&self, vendor: VendorId) -> &[Route] {
        let routes = &self.routes[usize::from(vendor.0)];
        routes.read.get_or_init(|| self.read_routes(vendor).unwrap_or_default())
    }

    /// Every vendor with its templates.
    fn all_routes(&self) -> impl Iterator<Item = (&Vendor, &[Route])> {
        (0_u16..).zip(&self.vendors).map(|(index, vendor)| (vendor, self.routes_of(VendorId(index))))
    }

    /// Argument keys of an operation whose literal values are worth a digest.
    pub fn enum_keys(&self, vendor: VendorId, operation: &Operation) -> &[String] {
        self.vendor(vendor).enum_keys.get(&operation.erased()).map_or(&[], Vec::as_slice)
    }

    /// Every vendor, sorted by id.
    pub fn vendors(&self) -> impl Iterator<Item = &Vendor> {
        self.vendors.iter()
    }

    /// Every import specifier with what it gives, sorted.
    pub fn modules(&self) -> BTreeMap<&str, &Module> {
        self.specifiers.iter().map(|(specifier, index)| (specifier.as_str(), &self.modules[*index])).collect()
    }
}

impl Package {
    /// The recorded version for a version of this package itself; see [`Catalog::edition`].
    pub fn edition(&self, version: Option<&str>) -> usize {
        let newest = self.editions.len().saturating_sub(1);
        let Some(version) = version.and_then(text::lowest_version) else { return newest };
        self.editions.iter().rposition(|edition| edition.version.major <= version.major).unwrap_or(0)
    }

    /// What a chain on a client of this package means in a recorded version. `chain` carries the client's prefix.
    pub fn meaning(&self, edition: usize, chain: &str) -> Meaning<'_> {
        let found = self.meaning_of(edition, chain);
        if found == Meaning::Unknown {
            for prefix in &self.optional_prefixes {
                let found = self.meaning_of(edition, &format!("{prefix}.{chain}"));
                if found != Meaning::Unknown {
                    return found;
                }
            }
        }
        found
    }

    fn meaning_of(&self, edition: usize, chain: &str) -> Meaning<'_> {
        if let Some(entry) = self.entry(edition, chain) {
            return Meaning::Operation(entry, None);
        }
        if let Some(dispatch) = self.dispatch.get(chain) {
            return Meaning::Dispatch(dispatch);
        }
        if self.is_local(chain) {
            return Meaning::Local;
        }
        for suffix in &self.suffixes {
            if let Some(head) = chain.strip_suffix(suffix.tail.as_str())
                && let Some(entry) = self.entry(edition, head)
            {
                return Meaning::Operation(entry, Some(suffix));
            }
        }
        // The longest head that is a call of an operation makes the rest a matter of its result.
        let mut head = chain;
        while let Some(at) = head.rfind("()") {
            head = &head[..at];
            if let Some(entry) = self.entry(edition, head) {
                return Meaning::Continuation(entry);
            }
        }
        Meaning::Unknown
    }

    /// What the chain requests in the recorded version; where that version does not have it, in the nearest lower one
    /// that does, else in the nearest higher one.
    fn entry(&self, edition: usize, chain: &str) -> Option<&OperationEntry> {
        let entries = self.chains().get(chain)?;
        let in_edition = |wanted: usize| {
            entries.iter().find(|entry| {
                entry.editions.is_empty() || entry.editions.iter().any(|known| usize::from(*known) == wanted)
            })
        };
        let lower = (0..=edition).rev().find_map(in_edition);
        lower.or_else(|| (edition + 1..self.editions.len()).find_map(in_edition)).map(|entry| &entry.entry)
    }

    /// What decides between two operations of a chain in a recorded version, where a key does.
    pub fn decided_by_key(&self, edition: usize, chain: &str) -> Option<&ByKey> {
        let all = self.by_key.get(chain)?.iter();
        let mut all =
            all.filter(|it| it.editions.is_empty() || it.editions.iter().any(|at| usize::from(*at) == edition));
        all.next()
    }

    /// The one segment that all chains have behind a prefix, if there is one: the only version of an API.
    pub fn only_segment(&self, prefix: &str) -> Option<&str> {
        let (from, to) = (format!("{prefix}."), format!("{prefix}/"));
        let mut all = self.chains().range(from.clone()..to).map(|(chain, _)| chain.as_str());
        let first = all.next()?.strip_prefix(&from)?.split(['.', '(']).next()?;
        // They are sorted, so what the first and the last share all have.
        let last = all.next_back().map_or(Some(first), |last| last.strip_prefix(&from)?.split(['.', '(']).next());
        (last == Some(first)).then_some(first)
    }

    /// The chain that this is the digest of.
    pub fn chain_of_digest(&self, digest: u64) -> Option<&str> {
        self.chains().keys().map(String::as_str).find(|chain| crate::parse::digest(chain) == digest)
    }

    /// Methods of an operation's result behind which the same answer is (`autoPagingToArray`).
    pub fn paging_methods(&self) -> impl Iterator<Item = &str> {
        self.suffixes.iter().filter_map(|suffix| suffix.tail.strip_prefix("()."))
    }

    /// Whether calling this chain leads to further chains (`from` to `from().select`), and is no request by itself.
    pub fn leads_on(&self, chain: &str) -> bool {
        let head = format!("{chain}()");
        self.chains().range(head.clone()..).next().is_some_and(|(known, _)| known.starts_with(&head))
    }

    /// Chain → what it requests, by recorded version. What cannot be read was refused when the catalog was loaded or
    /// built.
    pub(crate) fn chains(&self) -> &BTreeMap<String, Vec<model::ChainEntry>> {
        self.chains.get_or_init(|| self.read_chains().unwrap_or_default())
    }

    fn is_local(&self, chain: &str) -> bool {
        self.local.iter().any(|local| match local.strip_suffix(".*") {
            Some(head) => chain.strip_prefix(head).is_some_and(|rest| rest.starts_with(['.', '('])),
            None => local == chain,
        })
    }
}

impl Server {
    /// Any server of a vendor.
    fn any() -> Self {
        Self { host: String::new(), base: String::new(), also: vec![], named_only: false }
    }

    /// Whether a host in lower case is (one of) this server's.
    pub fn covers(&self, host: &str) -> bool {
        match self.host.strip_prefix('*') {
            Some(tail) => host.len() > tail.len() && host.ends_with(tail),
            None => self.host == host,
        }
    }
}
