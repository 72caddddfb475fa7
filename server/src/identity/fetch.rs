//! Fetches what an issuer publishes: bounded in time and bytes, without redirects, and never from an address that is
//! not on the internet unless the operator named the host.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use sync_core::address::is_public;
use url::{Host, Url};

/// How long a fetch may take, from the name's look-up to the last byte.
pub const FETCH_BUDGET: Duration = Duration::from_secs(5);

/// How long a connection may take of that.
const CONNECT_BUDGET: Duration = Duration::from_secs(2);

/// The longest document that is read.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// Fetches documents of issuers.
pub struct Fetcher {
    private_hosts: Arc<BTreeSet<String>>,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl Fetcher {
    /// `private_hosts` are the hosts that may have addresses of a private network or of this machine, and with the
    /// latter may speak plain HTTP.
    pub fn new(private_hosts: &[String]) -> Self {
        let private_hosts = private_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { private_hosts: Arc::new(private_hosts), client: OnceLock::new() }
    }

    /// Reads an address that may be fetched from; the text says why not.
    pub fn admit(&self, text: &str) -> Result<Url, String> {
        let url = Url::parse(text).map_err(|error| format!("is not an address: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("has a user, a password or a fragment".to_owned());
        }
        let listed = url.host_str().is_some_and(|host| self.private_hosts.contains(host));
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        match url.scheme() {
            "https" => {}
            "http" if listed && (url.host_str() == Some("localhost") || literal.is_some_and(|ip| ip.is_loopback())) => {
            }
            _ => return Err("does not begin with https://".to_owned()),
        }
        if literal.is_some_and(|address| !is_public(address) && !listed) {
            return Err("names an address that is not on the internet; the operator can allow its host with \
                        private_issuer_hosts"
                .to_owned());
        }
        Ok(url)
    }

    /// The document at an address that [`Fetcher::admit`] gave; the text says why there is none.
    pub async fn get(&self, url: &Url) -> Result<Bytes, String> {
        let client = self.client.get_or_init(|| self.client()).as_ref().map_err(Clone::clone)?;
        match tokio::time::timeout(FETCH_BUDGET, read(client, url)).await {
            Ok(read) => read,
            Err(_elapsed) => Err(format!("took longer than {} s", FETCH_BUDGET.as_secs())),
        }
    }

    fn client(&self) -> Result<reqwest::Client, String> {
        reqwest::Client::builder()
            .user_agent(concat!("syncd/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_BUDGET)
            .timeout(FETCH_BUDGET)
            // A connection that stays would be one to an address that was checked some time ago.
            .pool_max_idle_per_host(0)
            .dns_resolver(Arc::new(Guard { private_hosts: self.private_hosts.clone() }))
            .build()
            .map_err(|error| format!("cannot be fetched by this process: {error}"))
    }
}

async fn read(client: &reqwest::Client, url: &Url) -> Result<Bytes, String> {
    let request = client.get(url.clone()).header(reqwest::header::ACCEPT, "application/json");
    let mut response = request.send().await.map_err(|error| whole(&error))?;
    if response.status() != reqwest::StatusCode::OK {
        return Err(format!("answered {}", response.status()));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| whole(&error))? {
        if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
            return Err(format!("is longer than {MAX_DOCUMENT_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// An error with its reasons, which reqwest keeps apart.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        text = format!("{text}: {reason}");
        source = reason.source();
    }
    text
}

/// Looks names up and gives only addresses that may be connected to: the check and the connection see the same ones.
struct Guard {
    private_hosts: Arc<BTreeSet<String>>,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let listed = self.private_hosts.contains(&name.as_str().to_ascii_lowercase());
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let admitted: Vec<SocketAddr> = found.filter(|address| listed || is_public(address.ip())).collect();
            if admitted.is_empty() {
                return Err(format!("`{}` has no address on the internet", name.as_str()).into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_fetched_from_unless_the_host_is_listed() {
        let none = Fetcher::new(&[]);
        for text in ["https://id.example.com/jwks", "https://8.8.8.8/x", "https://id.example.com:8443/a?b"] {
            assert!(none.admit(text).is_ok(), "{text}");
        }
        for text in [
            "http://id.example.com/jwks",
            "file:///etc/passwd",
            "gopher://id.example.com",
            "https://user:secret@id.example.com",
            "https://id.example.com/#x",
            "https://127.0.0.1/jwks",
            "https://2130706433/jwks",
            "https://169.254.169.254/latest",
            "https://[::1]/jwks",
            "https://[::ffff:10.0.0.1]/jwks",
            "nonsense",
        ] {
            assert!(none.admit(text).is_err(), "{text}");
        }
        let local = Fetcher::new(&["127.0.0.1".to_owned(), "keycloak.corp".to_owned()]);
        assert!(local.admit("http://127.0.0.1:8080/jwks").is_ok());
        assert!(local.admit("https://keycloak.corp/jwks").is_ok());
        for text in ["http://127.0.0.2/jwks", "http://keycloak.corp/jwks", "http://localhost/jwks"] {
            assert!(local.admit(text).is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_connected_to() {
        let guard = |hosts: &[&str]| Guard { private_hosts: Arc::new(hosts.iter().map(|h| (*h).to_owned()).collect()) };
        let refused = guard(&[]).resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert!(refused.to_string().contains("no address on the internet"), "{refused}");
        assert!(guard(&["localhost"]).resolve("localhost".parse().unwrap()).await.is_ok());
    }
}
