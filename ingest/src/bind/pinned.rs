//! What a client is pinned to: the package's version, the API version, the host.

use std::collections::BTreeSet;

use sync_core::graph::Client;

use super::clients::{self, Host, Record};
use super::eval::Evaluator;
use super::keys::Options;
use super::text::{known, url};
use super::value::{FileId, Vendor};
use super::word::Word;
use crate::catalog::Package;
use crate::parse::{Expr, ExprId, SymbolIndex};
use crate::pins::Pinned;

/// Longest version that is believed to be one, in bytes.
const LONGEST_VERSION: usize = 64;

impl Evaluator<'_, '_> {
    /// The client that a construction makes.
    pub(super) fn constructed(
        &mut self,
        vendor: &Vendor,
        file: FileId,
        symbol: Option<SymbolIndex>,
        call: ExprId,
    ) -> Record {
        let package = self.catalog.package_of(self.catalog.shape(vendor.shape).package);
        let parsed = self.world.file(file).parsed;
        let options = match parsed.expr(call) {
            Expr::Call { arguments, .. } => arguments.get(package.client_options.argument).map(|it| it.value),
            _ => None,
        };
        let mut record = self.record(vendor, package, file, symbol);
        if let Some(options) = options {
            if let Some(key) = &package.client_options.api_version
                && let Some((there, value)) = self.option(file, options, key)
            {
                let version = self.text_of(there, value);
                let source = match (&version, self.world.file(there).parsed.expr(value)) {
                    (Some(_), _) => Some("literal"),
                    // `apiVersion: null` says the default outright.
                    (None, Expr::Null) => None,
                    (None, _) if self.has_environment(there, value) => Some("environment"),
                    (None, Expr::Cast(inner, _))
                        if matches!(self.world.file(there).parsed.expr(*inner), Expr::Null) =>
                    {
                        None
                    }
                    (None, _) => Some("unknown"),
                };
                record.client.api_version = version;
                if let Some(source) = source {
                    source.clone_into(&mut record.client.api_version_source);
                } else {
                    // The account's default where the vendor has one; a null is never the package's own.
                    "account_default".clone_into(&mut record.client.api_version_source);
                }
            }
            record.host = self.host(package, file, options);
        }
        record
    }

    fn host(&mut self, package: &Package, file: FileId, options: ExprId) -> Host {
        // Something unknown beside options that are shown is one branch; options of which nothing is shown are none.
        let shown = match self.object(file, options) {
            // `new Configuration({ … })` shows what it holds.
            Some((there, object)) => self.keys(there, object),
            None => self.keys(file, options),
        };
        let hidden = shown.hidden && shown.names.is_empty();
        for key in &package.client_options.base_url {
            let found = self.options(file, options, key);
            // Where nothing says so there is none, and the package's own default is provable.
            if found.values.is_empty() || (found.may_be_absent && !self.is_given_by_call(&found)) {
                continue;
            }
            let ours = package.vendor;
            let mut hosts: Vec<Option<String>> = Vec::new();
            let mut addresses: BTreeSet<Option<String>> = BTreeSet::new();
            let mut own = false;
            for (there, value) in found.values {
                own |= self.word(there, value) == Word::Absent
                    || self.may_be_absent(there, value, 0)
                    || self.expr(there, value).vendors().any(|vendor| {
                        let shape = self.catalog.shape(vendor.shape);
                        shape.own_url && self.catalog.package_of(shape.package).vendor == ours
                    });
                for text in self.texts_of(there, value) {
                    let host = url(&text).map(|url| url.host);
                    if host.is_some() {
                        addresses.insert(known(&text));
                    }
                    hosts.push(host);
                }
            }
            let vendor_of = |host: &String| self.catalog.vendor_of_host(host).map(|vendor| vendor.id.as_str());
            let ours = self.catalog.vendor(ours).id.as_str();
            // `process.env.API ?? "https://api.vendor.com"`: what is provable is the vendor's own.
            if own || hosts.iter().flatten().any(|host| vendor_of(host) == Some(ours)) {
                continue;
            }
            let foreign = hosts.iter().flatten().find(|host| vendor_of(host).is_some());
            if package.client_options.any_host && foreign.is_none() {
                continue;
            }
            // The same of another vendor's, unless something else makes the requests.
            let addresses: Vec<_> = addresses.into_iter().collect();
            if let [Some(address)] = addresses.as_slice()
                && foreign.is_some()
                && !self.is_fetched_elsewhere(package, file, options)
            {
                return Host::Served(address.clone());
            }
            return if hosts.iter().all(Option::is_some) { Host::Other } else { Host::Hidden };
        }
        if hidden && package.client_options.spoken_elsewhere {
            return Host::Hidden;
        }
        if !package.client_options.any_host && self.is_fetched_elsewhere(package, file, options) {
            return Host::Hidden;
        }
        Host::Own
    }

    /// Whether the call that is looked into says what an option is which is left out where that is not said
    /// (`if (config.baseURL) options.baseURL = config.baseURL`).
    fn is_given_by_call(&mut self, option: &Options) -> bool {
        self.frame.is_some()
            && option.values.iter().all(|(there, value)| {
                let is_known = |this: &mut Self| this.texts_of(*there, *value).iter().all(|text| known(text).is_some());
                is_known(self) && !self.alone(is_known)
            })
    }

    /// Whether a function that makes the client's requests may send them somewhere else.
    fn is_fetched_elsewhere(&mut self, package: &Package, file: FileId, options: ExprId) -> bool {
        package.client_options.fetch.iter().any(|key| {
            let found = self.options(file, options, key);
            !found.may_be_absent && found.values.iter().any(|(there, value)| self.may_redirect(*there, *value))
        })
    }

    /// Whether an option may be left out (`process.env.URL || undefined`): then the package's own default is provable.
    fn may_be_absent(&self, file: FileId, expr: ExprId, depth: u32) -> bool {
        if depth > 16 {
            return false;
        }
        match self.world.file(file).parsed.expr(expr) {
            Expr::Either(left, right) => {
                self.may_be_absent(file, *left, depth + 1) || self.may_be_absent(file, *right, depth + 1)
            }
            Expr::Cast(value, _) | Expr::Guarded(value) => self.may_be_absent(file, *value, depth + 1),
            Expr::Null => true,
            _ => false,
        }
    }

    /// The client that a declaration promises.
    pub(super) fn declaration(&mut self, vendor: &Vendor, file: FileId, symbol: Option<SymbolIndex>) -> Record {
        let package = self.catalog.package_of(self.catalog.shape(vendor.shape).package);
        let mut record = self.record(vendor, package, file, symbol);
        // Whoever made it may have pinned a version.
        "unknown".clone_into(&mut record.client.api_version_source);
        record
    }

    fn record(&mut self, vendor: &Vendor, package: &Package, file: FileId, symbol: Option<SymbolIndex>) -> Record {
        let module = self.catalog.module(&vendor.specifier);
        let pinned_as = module.map_or(package.name.as_str(), |module| module.pinned_as.as_str());
        let path = self.world.path(file);
        let pinned = self.pinned(&vendor.specifier, file, pinned_as);
        let edition = module.map_or(0, |module| self.catalog.edition(module, pinned.version.as_deref()));
        let (qualified, ordinal) = match self.world.symbol(file, symbol) {
            Some(symbol) => (symbol.qualified.as_str(), symbol.ordinal),
            None => ("", 0),
        };
        let vendor_id = &self.catalog.vendor(package.vendor).id;
        let default = &package.client_options.api_version_default;
        Record {
            client: Client {
                id: clients::id(path, qualified, ordinal, vendor_id, Some(pinned_as)),
                vendor: vendor_id.clone(),
                package: Some(pinned_as.to_owned()),
                sdk_version: pinned.version,
                sdk_version_source: pinned.source.to_owned(),
                api_version: None,
                api_version_source: if default.is_empty() { "unknown".to_owned() } else { default.clone() },
                constructed_at: self.world.target(file, symbol),
                envelope: package.editions.get(edition).and_then(|edition| edition.envelope.clone()),
            },
            host: Host::Own,
        }
    }

    /// The version that a file gets of a package: the one that the import itself asks for, else what is pinned.
    pub(super) fn pinned(&self, specifier: &str, file: FileId, package: &str) -> Pinned {
        match self.catalog.version_in(specifier) {
            // A tag is no version.
            Some(version) if version.bytes().any(|b| b.is_ascii_digit()) && version.len() <= LONGEST_VERSION => {
                let version = version.trim_start_matches('v').to_owned();
                Pinned { version: Some(version), source: "manifest_range" }
            }
            Some(_) => Pinned { version: None, source: "unknown" },
            None => self.pins().sdk_version(self.world.path(file), package),
        }
    }

    /// What a call selects of a client (`google.gmail({ version: "v1" })`, `google.gmail("v1")`).
    pub(super) fn selected(&mut self, file: FileId, call: ExprId, selector: &str) -> Option<String> {
        let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return None };
        let first = arguments.first()?.value;
        match self.option(file, first, selector) {
            Some((file, value)) => self.text_of(file, value),
            None => self.text_of(file, first),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bind::tests::analysed;

    #[test]
    fn no_host_but_a_vendors_is_told() {
        let source = r#"import OpenAI from "openai";
const c = new OpenAI({ baseURL: "https://internal.acme.example/v1" });
c.chat.completions.create({ model: "m" });
fetch("https://internal.acme.example/v1/charges");
"#;
        let analysis = analysed(&[("a.ts", source)]);
        let [site] = analysis.files[0].call_sites.as_slice() else { panic!("one call site") };
        assert_eq!(site.operation, None);
        assert!(!serde_json::to_string(&analysis.files).unwrap().contains("acme"));
        assert!(!serde_json::to_string(&analysis.clients).unwrap().contains("acme"));
    }
}
