//! Reading the operations of a vendor, once they are needed.

use std::collections::BTreeMap;

use super::Catalog;
use super::error::CatalogError;
use super::file::ArgumentsFile;
use super::model::{Arguments, ChainEntry, OperationEntry, Package, VendorId};
use super::route::{self, Route};
use super::text::{operation, ranged};

impl Package {
    /// Reads what the chains request; what is wrong is said in words.
    pub(super) fn read_chains(&self) -> Result<BTreeMap<String, Vec<ChainEntry>>, String> {
        let mut chains: BTreeMap<String, Vec<ChainEntry>> = BTreeMap::new();
        for line in self.lines.lines() {
            let mut parts = line.split('\t');
            let text = parts.next().unwrap_or_default();
            let (_, operation) = operation(text).ok_or_else(|| format!("`{text}` is no operation"))?;
            for written in parts {
                let (chain, editions) = ranged(written, &self.editions)
                    .ok_or_else(|| format!("`{written}` of `{}` names an unknown version", self.name))?;
                let arguments = self.chain_arguments.get(chain).copied().unwrap_or(self.arguments);
                let entry = OperationEntry { operation: operation.clone(), arguments };
                chains.entry(chain.to_owned()).or_default().push(ChainEntry { editions, entry });
            }
        }
        Ok(chains)
    }
}

impl Catalog {
    pub(super) fn contradiction(&self, vendor: VendorId, reason: String) -> CatalogError {
        CatalogError::Contradiction { file: self.vendor(vendor).file.clone(), reason }
    }

    /// What the operations of a vendor are written as, those of its packages first.
    pub(super) fn texts_of(&self, id: VendorId) -> Vec<&str> {
        let own = &self.routes[usize::from(id.0)].lines;
        let packages = self.packages.iter().filter(|package| package.vendor == id);
        let lines = packages.map(|package| &package.lines).chain([own]).flat_map(|lines| lines.lines());
        lines.filter_map(|line| line.split('\t').next()).collect()
    }

    /// Reads the templates of a vendor; what is wrong is said in words.
    pub(super) fn read_routes(&self, id: VendorId) -> Result<Vec<Route>, String> {
        let vendor = self.vendor(id);
        let mut routes = vec![];
        for text in self.texts_of(id) {
            let no_operation = || format!("`{text}` is no operation");
            let (written, canonical) = text.split_once(" as ").unwrap_or((text, text));
            let (host, written) = operation(written).ok_or_else(no_operation)?;
            let (_, operation) = operation(canonical).ok_or_else(no_operation)?;
            let (method, path) = written.as_str().split_once(' ').ok_or_else(no_operation)?;
            if let Some(host) = &host
                && !vendor.servers.iter().any(|server| server.host == *host)
            {
                return Err(format!("`{text}` names a host that is none of the vendor's servers"));
            }
            // What a name in parentheses tells apart, a path cannot.
            if !operation.as_str().ends_with(')') {
                routes.push(Route { method: method.to_owned(), host, segments: route::segments(path), operation });
            }
        }
        Ok(routes)
    }
}

impl From<ArgumentsFile> for Arguments {
    fn from(given: ArgumentsFile) -> Self {
        match given {
            ArgumentsFile::At(index) => Self::At(index),
            ArgumentsFile::AfterPath => Self::AfterPath,
            ArgumentsFile::FirstObject => Self::FirstObject,
            ArgumentsFile::Nested => Self::Nested,
            ArgumentsFile::None => Self::None,
        }
    }
}
