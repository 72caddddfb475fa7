//! The vendor clients of a repository: where each is made, and what it is pinned to.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use sync_core::graph::{Client, short_hash};

use super::value::FileId;
use crate::catalog::VendorId;
use crate::parse::{ExprId, FunctionId, SymbolIndex};

/// Where requests of a client go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// To the vendor whose package it is.
    Own,
    /// To another host, or one of several, that the code names.
    Other,
    /// To a server of another vendor of the catalog: its address, as the code names it.
    Served(String),
    /// To wherever a value says that is not known here.
    Hidden,
}

/// What a client is identified by while binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Site {
    /// A construction.
    Made(FileId, ExprId),
    /// The same with the arguments of one call, in a file, of the function around it.
    MadeFor(FileId, ExprId, FileId, Vec<ExprId>),
    /// A parameter, field or variable that is declared to be one, in a symbol.
    Declared(FileId, Option<SymbolIndex>, VendorId, String),
    /// A client of one vendor's package while it is called for another, whose server it is pointed at.
    Served(usize, String),
    /// What a parameter is where callers give different clients.
    Doubtful(FileId, FunctionId, u32),
    /// Plain requests of a symbol to a vendor, with a version and an envelope.
    Plain(FileId, Option<SymbolIndex>, String, Option<String>, Option<String>),
}

/// A client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) client: Client,
    pub(super) host: Host,
}

impl Record {
    /// Takes over what is not said of a client that is made of another one.
    pub(super) fn inherit(&mut self, before: &Self) {
        if self.host == Host::Own {
            self.host = before.host.clone();
        }
        if self.client.api_version.is_none() {
            self.client.api_version.clone_from(&before.client.api_version);
            self.client.api_version_source.clone_from(&before.client.api_version_source);
        }
    }
}

/// The clients met while a file is looked at.
#[derive(Debug, Default)]
pub(super) struct Clients {
    records: Vec<Met>,
    by_site: FxHashMap<Site, usize>,
}

#[derive(Debug)]
struct Met {
    record: Record,
    /// The file that constructs it.
    made_in: Option<FileId>,
    /// Whether something is called on it.
    named: bool,
    /// Whether it is of one vendor's package, and called for another.
    is_served: bool,
}

impl Clients {
    /// The client of a site, made when it is first met.
    pub(super) fn at(&mut self, site: Site, make: impl FnOnce() -> Record) -> usize {
        if let Some(at) = self.by_site.get(&site) {
            return *at;
        }
        let at = self.records.len();
        let made_in = match site {
            Site::Made(file, _) | Site::MadeFor(file, ..) => Some(file),
            Site::Declared(..) | Site::Served(..) | Site::Doubtful(..) | Site::Plain(..) => None,
        };
        let is_served = matches!(site, Site::Served(..));
        self.records.push(Met { record: make(), made_in, named: false, is_served });
        self.by_site.insert(site, at);
        at
    }

    pub(super) fn get(&self, at: usize) -> &Record {
        &self.records[at].record
    }

    /// Something that is not looked at may say where the requests of a client go.
    pub(super) fn hide(&mut self, at: usize) {
        self.records[at].record.host = Host::Hidden;
    }

    /// The file that constructs a client.
    pub(super) fn made_in(&self, at: usize) -> Option<FileId> {
        self.records[at].made_in
    }

    /// Whether a client is of one vendor's package, and called for another.
    pub(super) fn is_served(&self, at: usize) -> bool {
        self.records[at].is_served
    }

    pub(super) fn name(&mut self, at: usize) {
        self.records[at].named = true;
    }

    /// What a file adds to the clients of a snapshot: those that it constructs, and those that it calls something on.
    pub(super) fn of_file(&mut self, file: FileId) -> Vec<Client> {
        let all = std::mem::take(self).records.into_iter();
        all.filter(|met| met.named || met.made_in == Some(file)).map(|met| met.record.client).collect()
    }
}

/// What a snapshot says of the clients of its files: one row an id, ascending. Where clients of one symbol differ in a
/// version, it is unknown.
pub(crate) fn united(all: impl IntoIterator<Item = Client>) -> Vec<Client> {
    let mut by_id: BTreeMap<String, Client> = BTreeMap::new();
    for client in all {
        match by_id.get_mut(&client.id) {
            None => {
                by_id.insert(client.id.clone(), client);
            }
            Some(known) => {
                if known.api_version != client.api_version || known.api_version_source != client.api_version_source {
                    known.api_version = None;
                    "unknown".clone_into(&mut known.api_version_source);
                }
            }
        }
    }
    by_id.into_values().collect()
}

/// The id of a client while it is called for another vendor.
pub(super) fn id_for(id: &str, vendor: &str) -> String {
    short_hash(&[id, vendor])
}

/// The id of a client: 8 bytes over where it is declared and whose it is.
pub(super) fn id(path: &str, qualified: &str, ordinal: u32, vendor: &str, package: Option<&str>) -> String {
    short_hash(&[path, qualified, &ordinal.to_string(), vendor, package.unwrap_or("")])
}
