//! Which addresses a fetch may reach: looked up once, each one checked, and then dialled as it was checked.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use sync_core::address::is_public;
use sync_core::text::shown;
use tokio::net::TcpStream;
use tower::Service as _;

/// How long a name may take to be looked up, and a connection to be made.
const BUDGET: Duration = Duration::from_secs(10);

/// What the operator allows.
#[derive(Debug, Clone, Default)]
pub struct EgressPolicy {
    /// Hosts that may have addresses of a private network: forges inside.
    pub private_hosts: BTreeSet<String>,
    /// Whether any host may: the operator of this machine named the address.
    pub any_host: bool,
    /// Whether the proxy that this process's environment names is used to get out, where it names one for a host: of
    /// hosts that only it knows no address can be checked, so this is for [`EgressPolicy::any_host`].
    pub environment: bool,
    /// Certificate authorities in a file, beside the environment's.
    pub certificates: Option<PathBuf>,
}

/// Looks a name up.
pub(super) type Resolve = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Opens connections to what may be reached.
pub(super) struct Door {
    policy: EgressPolicy,
    resolve: Arc<Resolve>,
    /// Where another proxy is the way out.
    beyond: Option<Matcher>,
}

/// Why a connection is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is refused, in words.
    Refused(String),
    /// Nobody answers there.
    Unreachable,
}

impl Door {
    pub(super) fn new(policy: EgressPolicy) -> Self {
        let resolve = |host: String, port: u16| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
        };
        let beyond = (policy.environment && policy.any_host).then(Matcher::from_env);
        Self { policy, resolve: Arc::new(resolve), beyond }
    }

    #[cfg(test)]
    pub(super) fn with(policy: EgressPolicy, resolve: Arc<Resolve>, beyond: Option<Matcher>) -> Self {
        Self { policy, resolve, beyond }
    }

    /// Connects to a host and port, of which the port is `443` or `own`.
    pub(super) async fn open(&self, host: &str, port: u16, own: u16) -> Result<TcpStream, Closed> {
        let target = Uri::try_from(format!("https://{host}:{port}")).map_err(|_| Closed::Unreachable)?;
        if let Some(way) = self.beyond.as_ref().and_then(|beyond| beyond.intercept(&target)) {
            return tunnel(&way, target).await;
        }
        let addresses = self.admitted(host, port, own).await?;
        for address in addresses {
            if let Ok(Ok(stream)) = tokio::time::timeout(BUDGET, TcpStream::connect(address)).await {
                // It makes small answers faster; without it they arrive all the same.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
        }
        Err(Closed::Unreachable)
    }

    /// The addresses of a host, all of which may be reached. A name with one that may not is refused as a whole: that is
    /// how a name is made to lead inside.
    async fn admitted(&self, host: &str, port: u16, own: u16) -> Result<Vec<SocketAddr>, Closed> {
        let refused = |why: &str| Closed::Refused(format!("`{}:{port}` {why}", shown(host, 100)));
        if port != 443 && port != own {
            return Err(refused("is a port that the source's address does not name"));
        }
        let plain = host.trim_end_matches('.').to_ascii_lowercase();
        let is_listed = self.policy.any_host || self.policy.private_hosts.contains(&plain);
        let literal = plain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&plain);
        let found = match literal.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => match tokio::time::timeout(BUDGET, (self.resolve)(plain.clone(), port)).await {
                Ok(Ok(found)) => found,
                _ => return Err(Closed::Unreachable),
            },
        };
        if !is_listed && found.iter().any(|address| !is_public(address.ip())) {
            return Err(refused("has an address that is not on the internet"));
        }
        Ok(found)
    }
}

/// Through another proxy.
async fn tunnel(way: &Intercept, target: Uri) -> Result<TcpStream, Closed> {
    let mut tunnel = Tunnel::new(way.uri().clone(), HttpConnector::new());
    if let Some(pass) = way.basic_auth() {
        tunnel = tunnel.with_auth(pass.clone());
    }
    match tokio::time::timeout(BUDGET, tunnel.call(target)).await {
        Ok(Ok(stream)) => Ok(stream.into_inner()),
        _ => Err(Closed::Unreachable),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn leads_to(addresses: &'static [&'static str]) -> (Arc<AtomicUsize>, Arc<Resolve>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let resolve = move |_: String, port: u16| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            // Another answer to the second question, as who rebinds a name gives it.
            let nth = count.fetch_add(1, Ordering::Relaxed);
            let addresses = if nth == 0 { addresses } else { &["127.0.0.1"] };
            Box::pin(
                async move { Ok(addresses.iter().map(|text| SocketAddr::new(text.parse().unwrap(), port)).collect()) },
            )
        };
        (asked, Arc::new(resolve))
    }

    async fn admitted(policy: EgressPolicy, host: &str, addresses: &'static [&'static str]) -> Result<usize, Closed> {
        let (asked, resolve) = leads_to(addresses);
        let found = Door::with(policy, resolve, None).admitted(host, 443, 443).await;
        assert!(asked.load(Ordering::Relaxed) <= 1, "a name is looked up once");
        found.map(|found| found.len())
    }

    #[tokio::test]
    async fn every_address_of_a_name_is_checked() {
        let none = EgressPolicy::default;
        assert_eq!(admitted(none(), "example.com", &["8.8.8.8", "2606:4700::1111"]).await, Ok(2));
        for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1", "0.0.0.0"] {
            let addresses: &'static [&'static str] = Box::leak(Box::new(["8.8.8.8", inside]));
            assert!(matches!(admitted(none(), "example.com", addresses).await, Err(Closed::Refused(_))), "{inside}");
        }
        for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1."] {
            assert!(matches!(admitted(none(), host, &[]).await, Err(Closed::Refused(_))), "{host}");
        }
        let listed = EgressPolicy { private_hosts: ["git.corp".to_owned()].into(), ..none() };
        assert_eq!(admitted(listed.clone(), "GIT.corp.", &["10.0.0.1"]).await, Ok(1));
        assert!(admitted(listed, "other.corp", &["10.0.0.1"]).await.is_err());
        assert_eq!(admitted(EgressPolicy { any_host: true, ..none() }, "other.corp", &["10.0.0.1"]).await, Ok(1));
    }

    #[tokio::test]
    async fn only_ports_that_the_address_names_are_reached() {
        let door = Door::new(EgressPolicy { any_host: true, ..EgressPolicy::default() });
        for (port, is_open) in [(443, true), (8443, true), (22, false), (5432, false), (0, false)] {
            assert_eq!(door.admitted("127.0.0.1", port, 8443).await.is_ok(), is_open, "{port}");
        }
    }
}
