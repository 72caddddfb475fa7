//! Bar 15: addresses that are made to lead elsewhere. Most are refused before any process starts; what only shows itself
//! when it is looked up or redirected is refused by the proxy, and who listens on a forbidden address hears nothing.

use std::net::TcpListener;

use sync_ingest::git::{FaultCode, RemoteUrl};

use super::Fetcher;
use super::forge::{Forge, Odd};

/// What is refused by looking at it.
const REFUSED: [&str; 46] = [
    "ext::sh -c touch% /tmp/x",
    "ext::https://example.com/a",
    "fd::17/x",
    "transport::https://example.com/a",
    "file:///etc",
    "file://localhost/etc/passwd",
    "ssh://git@example.com/a/b",
    "ssh://-oProxyCommand=touch%20x/a",
    "git@example.com:a/b",
    "-oProxyCommand=touch x:a/b",
    "git://example.com/a/b",
    "http://example.com/a/b",
    "ftp://example.com/a/b",
    "data:text/plain,x",
    "javascript://example.com/%0aalert(1)",
    "--upload-pack=touch x",
    "--upload-pack=touch x https://example.com/a",
    "-c core.sshCommand=x",
    "-u./x",
    "/etc/passwd",
    "../x",
    "./x",
    "~/x",
    "https://user:secret@example.com/a/b",
    "https://token@example.com/a/b",
    "https://example.com@127.0.0.1/a/b",
    "https://example.com",
    "https:///a/b",
    "https://example.com/a?b",
    "https://example.com/a#b",
    "https://exa mple.com/a",
    "https://example.com/a\nb",
    "https://example.com/a\r\nHost: x",
    "https://example.com\\@127.0.0.1/a",
    "https://localhost/a/b",
    "https://api.localhost./a/b",
    "https://127.0.0.1/a/b",
    "https://127.1/a/b",
    "https://2130706433/a/b",
    "https://0177.0.0.1/a/b",
    "https://0x7f.1/a/b",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/a/b",
    "https://[::ffff:127.0.0.1]/a/b",
    "https://[fd00::1]/a/b",
    "https://１２７.0.0.1/a/b",
];

#[test]
fn what_is_no_address_of_a_forge_is_refused_before_anything_starts() {
    for text in REFUSED {
        let error = RemoteUrl::public(text).unwrap_err();
        assert!(!error.to_string().contains("secret") && !error.to_string().contains('\n'), "{error}");
        assert!(error.next_step().contains("https://"));
    }
}

/// A listener on an address of this machine that may not be reached, on the port of the source.
struct Canary(TcpListener);

impl Canary {
    fn on(address: &str, port: u16) -> Self {
        let listener = TcpListener::bind((address, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn heard_nothing(&self) {
        // The kernel completes a connection before anybody accepts it.
        let error = self.0.accept().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[tokio::test]
async fn the_proxy_connects_to_no_address_that_is_not_on_the_internet() {
    let forge = Forge::start().await;
    let port = forge.port;
    let canaries = [Canary::on("127.0.0.2", port), Canary::on("::1", port)];
    // As if the first look had let it through: what a name leads to is not known then.
    let worker = Fetcher::with(&[], forge.certificates()).await;
    for host in [
        "127.0.0.2",
        "127.2",
        "2130706434",
        "0x7f000002",
        "0177.0.0.2",
        "localhost",
        "LOCALHOST.",
        "[::1]",
        "[::ffff:127.0.0.2]",
        "[0:0:0:0:0:ffff:7f00:2]",
        "10.0.0.1",
        "169.254.169.254",
        "[fe80::1]",
        "[64:ff9b::7f00:2]",
        "0.0.0.0",
    ] {
        let (code, what) = worker.fault(&format!("https://{host}:{port}/a")).await;
        assert_eq!(code, FaultCode::AddressRefused, "{host}: {what}");
        assert!(what.contains("not on the internet"), "{what}");
    }
    canaries.iter().for_each(Canary::heard_nothing);
    assert!(forge.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn redirects_lead_no_further_than_the_address_itself_could() {
    let forge = Forge::start().await;
    let port = forge.port;
    let canaries = [Canary::on("127.0.0.2", port), Canary::on("::1", port)];
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let worker = Fetcher::of(&forge).await;
    for (to, code) in [
        (format!("https://127.0.0.2:{port}/a"), FaultCode::AddressRefused),
        (format!("https://[::1]:{port}/a"), FaultCode::AddressRefused),
        (format!("https://[::ffff:127.0.0.2]:{port}/a"), FaultCode::AddressRefused),
        ("https://169.254.169.254/latest/meta-data".to_owned(), FaultCode::AddressRefused),
        ("https://10.0.0.1/a".to_owned(), FaultCode::AddressRefused),
        (format!("https://localhost:{}/a", other.local_addr().unwrap().port()), FaultCode::AddressRefused),
        (format!("http://127.0.0.2:{port}/a"), FaultCode::Protocol),
        (format!("http://localhost:{port}/a"), FaultCode::Protocol),
        ("file:///etc/passwd".to_owned(), FaultCode::Protocol),
        ("ext::sh -c touch% x".to_owned(), FaultCode::Protocol),
        (forge.url("loop"), FaultCode::Protocol),
    ] {
        let url = forge.odd(if to.ends_with("loop") { "loop" } else { "moved" }, Odd::Redirect(to.clone()));
        let (found, what) = worker.fault(&url).await;
        let is_loop = to.ends_with("loop") && found == FaultCode::Unreachable;
        assert!(found == code || is_loop, "{to}: {found:?} {what}");
    }
    canaries.iter().for_each(Canary::heard_nothing);
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err());
}
