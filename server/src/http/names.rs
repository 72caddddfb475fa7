//! By which names this service may be addressed, and from which web pages: what stops DNS rebinding.

use std::collections::BTreeSet;
use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Uri, header};
use url::{Host, Url};

use crate::config::Config;

/// Accepted `Host` names and `Origin`s.
#[derive(Debug, Clone)]
pub struct Names {
    hosts: BTreeSet<String>,
    origins: BTreeSet<String>,
    /// Whether only this machine can reach the service: then pages that this machine serves, on whatever port, may.
    local: bool,
}

/// The names of this machine to itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Why a request is refused before anyone looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Addressed by another name.
    Host,
    /// Sent by another web page.
    Origin,
}

impl Names {
    /// Those of the public URL, of the listening address and of the configuration.
    pub fn of(config: &Config) -> Self {
        let public = config.public_url();
        let mut hosts: BTreeSet<String> = config.allowed_hosts.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut origins: BTreeSet<String> = config.allowed_origins.iter().cloned().collect();
        hosts.extend(Url::parse(&public).ok().and_then(|url| url.host_str().map(str::to_owned)));
        origins.insert(public);
        let listen = config.listen;
        hosts.insert(bracketed(listen.ip()));
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            hosts.extend(LOOPBACK.map(str::to_owned));
        }
        Self { hosts, origins, local: listen.ip().is_loopback() }
    }

    /// Whether a request may go on. Ports of `Host` do not matter: a name is rebound, not a port.
    pub fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Foreign> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(value), None) => value.to_str().ok().map(str::to_owned),
            (None, _) => uri.authority().map(ToString::to_string),
            // A proxy before us may have looked at the other one.
            (Some(_), Some(_)) => None,
        };
        let named = host.and_then(|host| host_name(&host)).is_some_and(|name| self.hosts.contains(&name));
        if !named {
            return Err(Foreign::Host);
        }
        for origin in headers.get_all(header::ORIGIN) {
            if !self.allow(origin) {
                return Err(Foreign::Origin);
            }
        }
        Ok(())
    }
}

impl Names {
    /// Whether web pages of the origin in an `Origin` header may call.
    pub fn allow(&self, origin: &HeaderValue) -> bool {
        origin.to_str().ok().and_then(|text| Url::parse(text).ok()).is_some_and(|url| self.knows(&url))
    }

    fn knows(&self, page: &Url) -> bool {
        let own = page.host_str().is_some_and(|host| self.local && LOOPBACK.contains(&host));
        own || self.origins.contains(&page.origin().ascii_serialization())
    }
}

/// The name in `name[:port]`, in the form that [`Names`] keeps.
fn host_name(host: &str) -> Option<String> {
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let whole = url.path() == "/" && url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
    match url.host()? {
        Host::Domain(name) if whole => Some(name.to_owned()),
        Host::Ipv4(address) if whole => Some(address.to_string()),
        Host::Ipv6(address) if whole => Some(format!("[{address}]")),
        _ => None,
    }
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let environment = [
            ("SYNC_PUBLIC_URL", "https://sync.example.com"),
            ("SYNC_ALLOWED_HOSTS", r#"["lb.internal"]"#),
            ("SYNC_ALLOWED_ORIGINS", r#"["https://app.example.com"]"#),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Names::of(&Config::load(None, environment).unwrap())
    }

    fn check(host: &str, origin: Option<&str>) -> Result<(), Foreign> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        names().check(&headers, &Uri::from_static("/mcp"))
    }

    #[test]
    fn two_hosts_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert_eq!(names().check(&headers, &Uri::from_static("/mcp")), Ok(()));
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert_eq!(names().check(&headers, &Uri::from_static("/mcp")), Err(Foreign::Host));
    }

    #[test]
    fn own_names_pass_and_foreign_ones_do_not() {
        for host in
            ["sync.example.com", "SYNC.example.com:443", "lb.internal:80", "localhost:1", "127.0.0.1:8787", "[::1]:1"]
        {
            assert_eq!(check(host, None), Ok(()), "{host}");
        }
        for host in
            ["evil.example.com", "sync.example.com.evil.com", "a@sync.example.com", "sync.example.com/x", "", "a b"]
        {
            assert_eq!(check(host, None), Err(Foreign::Host), "{host}");
        }
        for origin in [
            "https://app.example.com",
            "https://app.example.com:443",
            "https://sync.example.com",
            "http://localhost:8787",
            "http://localhost:6274",
            "http://[::1]",
        ] {
            assert_eq!(check("localhost", Some(origin)), Ok(()), "{origin}");
        }
        for origin in [
            "https://evil.example.com",
            "http://app.example.com",
            "https://app.example.com:444",
            "http://localhost.evil.example.com",
            "null",
            "app",
            "",
        ] {
            assert_eq!(check("localhost", Some(origin)), Err(Foreign::Origin), "{origin}");
        }
    }
}
