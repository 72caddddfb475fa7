//! Reading vendor files and resolving the names in them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::OnceLock;

use semver::Version;
use sync_core::operation::erase;

use super::error::CatalogError;
use super::file::{DispatchFile, DispatchKind, EditionFile, FORMAT, PackageFile, ShapeFile, SourceFile, VendorFile};
use super::http::{self, HttpLibraries};
use super::model::{
    Arguments, ByKey, ClientOptions, ClientShape, Dispatch, Edition, Entry, Module, Package, PackageId, Server, Shape,
    ShapeId, Source, Suffix, Vendor, VendorId,
};
use super::text::{operation, ranged};
use super::{Catalog, VendorRoutes, embedded, parts};

pub(super) fn from_folder(dir: &Path) -> Result<Catalog, CatalogError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| CatalogError::Unreadable { path, source }
    };
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable(dir))? {
        let path = entry.map_err(unreadable(dir))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.insert(name, std::fs::read_to_string(&path).map_err(unreadable(&path))?);
        }
    }
    from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

/// A vendor file, taken apart.
struct Given {
    name: String,
    /// Without operations and routes.
    head: VendorFile,
    /// What each package's chains request.
    operations: Vec<Operations>,
    routes: Cow<'static, str>,
}

struct Operations {
    commands: Vec<String>,
    lines: Cow<'static, str>,
}

/// Files must come sorted by name: the version is a hash over them in order.
pub(super) fn from_files<'a>(files: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Result<Catalog, CatalogError> {
    let version = parts::version(std::iter::once(http::FILE).chain(files.clone()));
    let mut given = vec![];
    for (name, text) in files {
        let mut head = vendor_file(name, text)?;
        let take = |package: &mut PackageFile| {
            let (recorded, added) = (std::mem::take(&mut package.operations), std::mem::take(&mut package.added));
            let all = recorded.iter().chain(&added);
            let lines =
                parts::lines(all.map(|(operation, chains)| (operation.as_str(), chains.iter().map(String::as_str))));
            Operations { commands: parts::commands(&lines), lines: lines.into() }
        };
        let operations = head.packages.iter_mut().map(take).collect();
        let routes = head.routes.iter().chain(&head.recorded_routes);
        let routes = parts::lines(routes.map(|route| (route.as_str(), std::iter::empty())));
        given.push(Given { name: name.to_owned(), head, operations, routes: routes.into() });
    }
    let catalog = from_parts(version, given)?;
    for package in &catalog.packages {
        package.read_chains().map_err(|reason| catalog.contradiction(package.vendor, reason))?;
    }
    for index in (0..catalog.vendors.len()).filter_map(index) {
        catalog.read_routes(VendorId(index)).map_err(|reason| catalog.contradiction(VendorId(index), reason))?;
    }
    Ok(catalog)
}

/// The catalog of this build. Its operations were read by the tests, so nothing is read here that may not be needed.
pub(super) fn from_embedded() -> Result<Catalog, CatalogError> {
    let mut given = vec![];
    for file in embedded::FILES {
        let operations = file.packages.iter().map(|package| Operations {
            commands: package.commands.iter().map(|command| (*command).to_owned()).collect(),
            lines: package.lines.into(),
        });
        given.push(Given {
            name: file.name.to_owned(),
            head: vendor_file(file.name, file.head)?,
            operations: operations.collect(),
            routes: file.routes.into(),
        });
    }
    let mut catalog = from_parts(embedded::VERSION.to_owned(), given)?;
    catalog.known_words = embedded::WORDS;
    Ok(catalog)
}

fn vendor_file(name: &str, text: &str) -> Result<VendorFile, CatalogError> {
    let malformed = |reason: String| CatalogError::Malformed { file: name.to_owned(), reason };
    let file: VendorFile = serde_json::from_str(text).map_err(|e| malformed(e.to_string()))?;
    if file.format == FORMAT { Ok(file) } else { Err(malformed(format!("format {} is not {FORMAT}", file.format))) }
}

fn from_parts(version: String, given: Vec<Given>) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog {
        version,
        vendors: vec![],
        packages: vec![],
        shapes: vec![],
        modules: vec![],
        entries: vec![],
        specifiers: HashMap::new(),
        routes: vec![],
        hosts: vec![],
        http: HttpLibraries::read(http::FILE.0, http::FILE.1)?,
        known_words: &[],
        words: OnceLock::new(),
    };
    let names = declare(&mut catalog, &given)?;
    let mut package = 0;
    for file in given {
        let at = Place { file: file.name, names: &names };
        for (given, operations) in file.head.packages.into_iter().zip(file.operations) {
            let id = PackageId(package);
            package += 1;
            fill(&mut catalog, &at, id, given, operations)?;
        }
    }
    Ok(catalog)
}

/// Names of shapes: `package name` and `shape name` to its index.
type Names = HashMap<(String, String), ShapeId>;

struct Place<'a> {
    file: String,
    names: &'a Names,
}

impl Place<'_> {
    fn wrong(&self, reason: String) -> CatalogError {
        CatalogError::Contradiction { file: self.file.clone(), reason }
    }

    /// `shape`, or `package:shape` for one of another package.
    fn shape(&self, package: &str, reference: &str) -> Result<ShapeId, CatalogError> {
        let (package, shape) = reference.rsplit_once(':').unwrap_or((package, reference));
        self.names
            .get(&(package.to_owned(), shape.to_owned()))
            .copied()
            .ok_or_else(|| self.wrong(format!("no shape `{shape}` in package `{package}`")))
    }
}

/// First pass: gives vendors, packages, shapes and routes their indexes, so that the second can refer to any of them.
fn declare(catalog: &mut Catalog, given: &[Given]) -> Result<Names, CatalogError> {
    let mut names = Names::new();
    for given in given {
        let (name, file) = (&given.name, &given.head);
        let wrong = |reason: String| CatalogError::Contradiction { file: name.clone(), reason };
        let vendor = VendorId(index(catalog.vendors.len()).ok_or_else(|| wrong("too many vendors".to_owned()))?);
        if catalog.vendors.iter().any(|known| known.id == file.vendor) {
            return Err(wrong(format!("vendor `{}` is declared twice", file.vendor)));
        }
        let servers: Vec<Server> = file
            .servers
            .iter()
            .map(|given| Server {
                host: given.host.to_ascii_lowercase(),
                base: given.base.trim_end_matches('/').to_owned(),
                also: given.also.clone(),
                named_only: given.named_only,
            })
            .collect();
        catalog.hosts.extend(servers.iter().map(|server| (server.clone(), vendor)));
        catalog.vendors.push(Vendor {
            id: file.vendor.clone(),
            file: name.clone(),
            servers,
            api_version_header: file.api_version_header.as_ref().map(|header| header.to_ascii_lowercase()),
            get_as_post: file.get_as_post,
            enum_keys: file.enum_keys.iter().map(|(operation, keys)| (erase(operation), keys.clone())).collect(),
        });
        catalog.routes.push(VendorRoutes { lines: given.routes.clone(), read: OnceLock::new() });
        for (package, operations) in file.packages.iter().zip(&given.operations) {
            let id = PackageId(index(catalog.packages.len()).ok_or_else(|| wrong("too many packages".to_owned()))?);
            catalog.packages.push(Package {
                vendor,
                name: package.name.clone(),
                editions: vec![],
                arguments: Arguments::None,
                options_keys: vec![],
                options_inside: vec![],
                answers_each: vec![],
                outside_envelope: vec![],
                bare_lists: false,
                by_key: BTreeMap::new(),
                client_options: ClientOptions::default(),
                local: vec![],
                suffixes: vec![],
                dispatch: BTreeMap::new(),
                optional_prefixes: vec![],
                chain_arguments: HashMap::new(),
                lines: Cow::Borrowed(""),
                chains: OnceLock::new(),
            });
            for shape in package.shapes.keys() {
                declare_shape(catalog, &mut names, id, &package.name, shape)
                    .ok_or_else(|| wrong(format!("shape `{shape}` of `{}` is declared twice", package.name)))?;
            }
            for command in &operations.commands {
                declare_shape(catalog, &mut names, id, &package.name, command);
                declare_shape(catalog, &mut names, id, &package.name, &format!("new {command}"));
            }
        }
    }
    Ok(names)
}

fn index(len: usize) -> Option<u16> {
    u16::try_from(len).ok()
}

fn declare_shape(
    catalog: &mut Catalog,
    names: &mut Names,
    package: PackageId,
    package_name: &str,
    name: &str,
) -> Option<()> {
    let id = ShapeId(u32::try_from(catalog.shapes.len()).ok()?);
    if names.insert((package_name.to_owned(), name.to_owned()), id).is_some() {
        return None;
    }
    catalog.shapes.push(Shape {
        package,
        name: name.to_owned(),
        client: None,
        members: BTreeMap::new(),
        construct: None,
        call: None,
        callback: None,
        command: None,
        own_url: false,
        keys: BTreeMap::new(),
        client_in: None,
        keys_in: None,
    });
    Some(())
}

/// Second pass: a package's content.
fn fill(
    catalog: &mut Catalog,
    at: &Place<'_>,
    id: PackageId,
    given: PackageFile,
    operations: Operations,
) -> Result<(), CatalogError> {
    let commands = operations.commands;
    for (name, shape) in given.shapes {
        fill_shape(catalog, at, &given.name, &name, shape)?;
    }
    for command in &commands {
        let (class, value) = (at.shape(&given.name, command)?, at.shape(&given.name, &format!("new {command}"))?);
        catalog.shapes[class.0 as usize].construct = Some(value);
        catalog.shapes[value.0 as usize].command = Some(format!("send({command})"));
    }
    for module in given.modules {
        let resolve = |names: BTreeMap<String, String>| {
            names
                .into_iter()
                .map(|(name, shape)| Ok((name, at.shape(&given.name, &shape)?)))
                .collect::<Result<BTreeMap<_, _>, CatalogError>>()
        };
        let mut exports = resolve(module.exports)?;
        if module.specifiers.first().is_some_and(|specifier| *specifier == given.name) {
            for command in &commands {
                exports.insert(command.clone(), at.shape(&given.name, command)?);
            }
        }
        let version = |text: &str| {
            Version::parse(text).map_err(|e| at.wrong(format!("version `{text}` of `{}`: {e}", given.name)))
        };
        let resolved = Module {
            package: id,
            pinned_as: module.pinned_as.unwrap_or_else(|| given.name.clone()),
            versions: module
                .versions
                .iter()
                .map(|(from, edition)| Ok((version(from)?, version(edition)?)))
                .collect::<Result<_, CatalogError>>()?,
            itself: module.itself.map(|shape| at.shape(&given.name, &shape)).transpose()?,
            exports,
            types: resolve(module.types)?,
        };
        for (export, shape) in resolve(module.entries)? {
            let of = |specifier: &String| Entry { specifier: specifier.clone(), export: export.clone(), shape };
            catalog.entries.extend(module.specifiers.iter().map(of));
        }
        let index = catalog.modules.len();
        catalog.modules.push(resolved);
        for specifier in module.specifiers {
            if catalog.specifiers.insert(specifier.clone(), index).is_some() {
                return Err(at.wrong(format!("`{specifier}` is declared twice")));
            }
        }
    }
    let mut editions = vec![];
    for edition in given.editions {
        let version = Version::parse(&edition.version)
            .map_err(|e| at.wrong(format!("version `{}` of `{}`: {e}", edition.version, given.name)))?;
        let EditionFile { envelope, through, answers_first, .. } = edition;
        editions.push(Edition { version, envelope, through, answers_first });
    }
    let mut by_key: BTreeMap<String, Vec<ByKey>> = BTreeMap::new();
    for entry in given.by_key {
        let no_operation = |text: &str| at.wrong(format!("`{text}` of `{}` is no operation", given.name));
        let (chain, known) = ranged(&entry.chain, &editions)
            .ok_or_else(|| at.wrong(format!("`{}` of `{}` names an unknown version", entry.chain, given.name)))?;
        let (_, with) = operation(&entry.with).ok_or_else(|| no_operation(&entry.with))?;
        let (_, without) = operation(&entry.without).ok_or_else(|| no_operation(&entry.without))?;
        let decided = ByKey { editions: known, keys: entry.keys, with, without };
        by_key.entry(chain.to_owned()).or_default().push(decided);
    }
    let mut dispatch: BTreeMap<String, Vec<Dispatch>> = BTreeMap::new();
    for given_dispatch in given.dispatch {
        let chain = given_dispatch.chain.clone();
        let resolved = resolve_dispatch(given_dispatch)
            .ok_or_else(|| at.wrong(format!("dispatch `{chain}` of `{}` lacks its method or path", given.name)))?;
        dispatch.entry(chain).or_default().push(resolved);
    }
    let package = &mut catalog.packages[usize::from(id.0)];
    package.editions = editions;
    package.arguments = given.arguments.into();
    package.options_keys = given.options_keys;
    package.options_inside = given.options_inside;
    package.answers_each = given.answers_each;
    package.outside_envelope = given.outside_envelope;
    package.bare_lists = given.bare_lists;
    package.by_key = by_key;
    package.client_options = ClientOptions {
        argument: given.client_options.argument,
        base_url: given.client_options.base_url,
        any_host: given.client_options.any_host,
        spoken_elsewhere: given.client_options.spoken_elsewhere,
        fetch: given.client_options.fetch.clone().unwrap_or_else(|| vec!["fetch".to_owned()]),
        requests: given.client_options.requests.clone(),
        api_version: given.client_options.api_version,
        api_version_default: given.client_options.api_version_default.unwrap_or_else(|| "unknown".to_owned()),
    };
    package.local = given.local;
    package.suffixes = given.suffixes.into_iter().map(|(tail, kind)| Suffix { tail, kind }).collect();
    package.dispatch = dispatch;
    package.optional_prefixes = given.optional_prefixes;
    package.chain_arguments = given.chain_arguments.into_iter().map(|(chain, rule)| (chain, rule.into())).collect();
    package.lines = operations.lines;
    Ok(())
}

fn fill_shape(
    catalog: &mut Catalog,
    at: &Place<'_>,
    package: &str,
    name: &str,
    given: ShapeFile,
) -> Result<(), CatalogError> {
    let id = at.shape(package, name)?;
    let members = given
        .members
        .into_iter()
        .map(|(member, shape)| Ok((member, at.shape(package, &shape)?)))
        .collect::<Result<_, CatalogError>>()?;
    let optional = |reference: Option<String>| reference.map(|shape| at.shape(package, &shape)).transpose();
    let construct = optional(given.construct)?;
    let call = optional(given.call)?;
    let callback = given.callback.map(|(parameter, shape)| Ok((parameter, at.shape(package, &shape)?))).transpose()?;
    let shape = &mut catalog.shapes[id.0 as usize];
    shape.client = given.client.map(|prefix| ClientShape { prefix, selector: given.selector });
    shape.members = members;
    shape.construct = construct;
    shape.call = call;
    shape.callback = callback;
    shape.own_url = given.own_url;
    shape.keys = given.keys;
    shape.client_in = given.client_in;
    shape.keys_in = given.keys_in;
    Ok(())
}

fn resolve_dispatch(given: DispatchFile) -> Option<Dispatch> {
    let source = |given: SourceFile| match given {
        SourceFile::Argument(index) => Source::Argument(index),
        SourceFile::Option(index, key) => Source::Option(index, key),
        SourceFile::Fixed(text) => Source::Fixed(text),
    };
    let argument = given.argument;
    let keys = match given.keys {
        Some(SourceFile::Argument(index)) => index,
        _ => argument + 1,
    };
    Some(match given.by {
        DispatchKind::Route => Dispatch::Route { argument, keys },
        DispatchKind::Reference => Dispatch::Reference { argument, keys },
        DispatchKind::Chain => Dispatch::Chain { argument, keys },
        DispatchKind::Command => Dispatch::Command { argument },
        DispatchKind::Path => {
            Dispatch::Path { method: source(given.method?), path: source(given.path?), keys: given.keys.map(source) }
        }
    })
}
