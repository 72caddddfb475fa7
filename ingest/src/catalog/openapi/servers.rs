//! Where a description says that its vendor answers, and how a template is written for it.

use std::collections::BTreeSet;

use super::BuildError;
use super::read::{Description, Server};
use super::shown;
use crate::catalog::ordered::Ordered;

/// More values than a vendor lists; a variable with more of them stands for any label.
const MAX_HOSTS: usize = 32;
/// Most servers of one vendor.
const MAX_SERVERS: usize = 256;

/// The servers of a vendor, in the order of the description.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    all: Vec<Known>,
    /// Whether operations may say their own.
    fixed: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Known {
    host: String,
    base: String,
    /// Answers only what names it, or what names this other one.
    named_only: bool,
    also: Option<String>,
}

/// Where an operation is answered.
#[derive(Debug, PartialEq)]
pub(super) struct Target {
    /// One of the hosts, with what precedes every template there.
    host: String,
    base: String,
    /// Whether only that host answers it.
    is_named: bool,
}

impl Servers {
    /// Those of a description, or those that are given.
    pub(super) fn of(
        description: &Description,
        given: &[String],
        left_out: &mut BTreeSet<String>,
    ) -> Result<Self, BuildError> {
        if !given.is_empty() {
            let split = |server: &String| split_url(server).ok_or_else(|| BuildError::BadServer(server.clone()));
            let all = given.iter().map(split).collect::<Result<Vec<_>, _>>()?;
            let all = all.into_iter().map(|(host, base)| Known { host, base, named_only: false, also: None });
            return Ok(Self { all: all.collect(), fixed: true });
        }
        let mut servers = Self { all: vec![], fixed: false };
        let mut urls: Vec<String> = description.servers.iter().flat_map(expanded).collect();
        if let Some(host) = &description.host {
            let base = description.base_path.as_deref().unwrap_or_default();
            urls.push(format!("https://{host}/{}", base.trim_start_matches('/')));
        }
        for url in &urls {
            match split_url(url) {
                Some((host, base)) => servers.add(Known { host, base, named_only: false, also: None }, left_out),
                None => {
                    left_out.insert(format!("server `{}`: no public host", shown(url)));
                }
            }
        }
        // What only some operations have comes after what all have.
        for item in description.paths.values() {
            for own in item.methods.iter().map(|(_, own)| own).chain([&item.servers]) {
                let mut first = None;
                for (host, base) in own.iter().flat_map(expanded).filter_map(|url| split_url(&url)) {
                    if servers.all.iter().any(|known| known.host == host) {
                        first.get_or_insert(host);
                        continue;
                    }
                    let also = first.clone();
                    first.get_or_insert(host.clone());
                    servers.add(Known { host, base, named_only: true, also }, left_out);
                }
            }
        }
        if servers.all.is_empty() {
            let said = urls.first().map_or_else(|| "no servers".to_owned(), |url| format!("`{}`", shown(url)));
            return Err(BuildError::NoServer(said));
        }
        Ok(servers)
    }

    /// Those that a vendor's file has.
    pub(super) fn of_file(file: &Ordered) -> Self {
        let known = |server: &Ordered| {
            let text = |key: &str| server.get(key).and_then(Ordered::as_str).unwrap_or_default().to_owned();
            let named_only = matches!(server.get("named_only"), Some(Ordered::Plain(serde_json::Value::Bool(true))));
            Known { host: text("host"), base: text("base"), named_only, also: None }
        };
        Self { all: file.get("servers").map_or(&[][..], Ordered::items).iter().map(known).collect(), fixed: false }
    }

    fn add(&mut self, server: Known, left_out: &mut BTreeSet<String>) {
        if self.all.contains(&server) {
            return;
        }
        if self.all.len() >= MAX_SERVERS {
            left_out.insert(format!("servers after the first {MAX_SERVERS}"));
            return;
        }
        self.all.push(server);
    }

    /// Where an operation with these servers of its own is answered; the reason if that cannot be said.
    pub(super) fn target(&self, own: &[Server]) -> Result<Target, String> {
        let general = self.all.iter().find(|server| !server.named_only);
        if own.is_empty() || self.fixed {
            let server = general.ok_or("it says no server, and the description has none for all operations")?;
            return Ok(Target { host: server.host.clone(), base: server.base.clone(), is_named: false });
        }
        let urls: Vec<String> = own.iter().flat_map(expanded).collect();
        let (host, base) = urls
            .iter()
            .find_map(|url| split_url(url))
            .ok_or_else(|| format!("its server `{}` has no public host", shown(&urls.join(", "))))?;
        let mut same = self.all.iter().filter(|server| server.host == host);
        match same.find(|server| server.base == base) {
            Some(server) => Ok(Target { host, base, is_named: server.named_only }),
            None => Err(format!("its server `{host}{base}` is apart from others by its path only")),
        }
    }

    /// A template as a file with these servers writes it: with its host where only that answers it, and without what the
    /// file's server has before every template.
    pub(super) fn template(&self, target: &Target, path: &str) -> Result<String, String> {
        let covers = |known: &str| {
            let tail = known.strip_prefix('*');
            tail.map_or(known == target.host, |tail| target.host.ends_with(tail) || target.host == known)
        };
        let whole = format!("{}{path}", target.base);
        let mut error = format!("its host `{}` is none of the file's servers", target.host);
        for server in self.all.iter().filter(|server| covers(&server.host)) {
            match whole.strip_prefix(server.base.as_str()).filter(|path| path.starts_with('/')) {
                Some(path) if server.named_only => return Ok(format!("{}{path}", server.host)),
                Some(path) => return Ok(path.to_owned()),
                None => error = format!("`{}` answers below `{}` only", server.host, server.base),
            }
        }
        Err(error)
    }

    /// As a file has them.
    pub(super) fn written(&self) -> Ordered {
        let server = |server: &Known| {
            let mut entries = vec![("host".to_owned(), Ordered::text(&server.host))];
            if !server.base.is_empty() {
                entries.push(("base".to_owned(), Ordered::text(&server.base)));
            }
            if server.named_only {
                entries.push(("named_only".to_owned(), Ordered::Plain(true.into())));
            }
            entries.extend(server.also.iter().map(|also| ("also".to_owned(), Ordered::texts([also]))));
            Ordered::Object(entries)
        };
        Ordered::Array(self.all.iter().map(server).collect())
    }
}

/// A server's URL for all values of its variables; `*` for a variable that is not listed or has very many.
fn expanded(server: &Server) -> Vec<String> {
    let mut urls = vec![server.url.clone()];
    loop {
        let Some(first) = urls.first() else { return urls };
        let Some((name, placeholder)) = first.split_once('{').and_then(|(_, behind)| {
            let name = behind.split_once('}')?.0;
            Some((name.to_owned(), format!("{{{name}}}")))
        }) else {
            return urls;
        };
        let variable = server.variables.get(&name);
        let listed: Vec<&str> =
            variable.map(|variable| variable.listed.iter().map(String::as_str).collect()).unwrap_or_default();
        let host = first.split_once("://").map_or(first.as_str(), |(_, behind)| behind);
        let host = host.split('/').next().unwrap_or_default();
        let is_label = host.contains(&placeholder) && host != placeholder;
        let default = variable.and_then(|variable| variable.default.as_deref());
        let values: Vec<&str> = match (listed.len(), default) {
            (1.., _) if listed.len() * urls.len() <= MAX_HOSTS => listed,
            // Without a list, a default is what everybody has, but in a host's labels: there it is only an example.
            (_, Some(default)) if !is_label => vec![default],
            _ => vec!["*"],
        };
        // A value may not bring a placeholder again: it would never end.
        let values: Vec<String> = values.iter().map(|value| value.replace(['{', '}'], "")).collect();
        urls = urls.iter().flat_map(|url| values.iter().map(|value| url.replace(&placeholder, value))).collect();
    }
}

/// Host and base of a URL; nothing where the host is none that a vendor answers at.
fn split_url(url: &str) -> Option<(String, String)> {
    let behind = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let behind = behind.split(['?', '#']).next()?;
    let (host, base) = behind.split_once('/').map_or((behind, String::new()), |(host, base)| {
        let base = base.trim_end_matches('/');
        (host, if base.is_empty() { String::new() } else { format!("/{base}") })
    });
    let host = host.split(':').next()?.to_ascii_lowercase();
    // `*` stands for whole labels in front: `{region}-api.example.com` is any host of `example.com` here.
    let host = match host.rfind('*') {
        Some(at) => format!("*.{}", host[at..].split_once('.')?.1),
        None => host,
    };
    let plain = host.strip_prefix("*.").unwrap_or(&host);
    let labels: Vec<&str> = plain.split('.').collect();
    let is_label = |label: &&str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let last = labels.last()?;
    let is_public = labels.len() > 1
        && labels.iter().all(is_label)
        && !last.bytes().all(|b| b.is_ascii_digit())
        && !matches!(*last, "localhost" | "local" | "internal" | "test" | "invalid");
    (is_public && !base.contains(['*', ' ', '{'])).then_some((host, base))
}
