//! Where a request came from.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use http::Extensions;
use http::HeaderMap;

/// The peer's address; behind `hops` proxies of ours, the one that the outermost of them saw. What the client itself
/// wrote into `X-Forwarded-For` stands further left and is never looked at.
pub fn of(headers: &HeaderMap, extensions: &Extensions, hops: usize) -> Option<IpAddr> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
    let Some(from_right) = hops.checked_sub(1) else { return peer };
    let forwarded: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    forwarded.iter().rev().nth(from_right).and_then(|text| text.parse().ok()).or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_our_own_proxies_wrote_is_believed() {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 99))));
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", "6.6.6.6, 192.0.2.1".parse().unwrap());
        headers.append("x-forwarded-for", "198.51.100.7".parse().unwrap());
        let address = |hops| of(&headers, &extensions, hops).unwrap().to_string();
        assert_eq!([address(0), address(1), address(2)], ["10.0.0.1", "198.51.100.7", "192.0.2.1"]);
        assert_eq!(address(9), "10.0.0.1");
    }
}
