//! A connection to a remote: over https through the proxy and nothing else, or to a folder of this machine.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix::progress::Discard;
use gix::protocol::handshake::Ref;
use gix::protocol::ls_refs::RefPrefixes;
use gix::protocol::transport::client::blocking_io::{Transport, connect, http};
use gix::protocol::transport::{Protocol, Service};
use gix::protocol::{Handshake, LsRefsCommand};

use super::answer::{Credential, Fault, FaultCode, FetchLimits, Proxy};
use super::bounded::{Bounded, Meter};
use super::url::RemoteUrl;
use super::wanted::Wanted;
use crate::tree::reason;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(20);
/// What we say we are.
const AGENT: &str = concat!("sync/", env!("CARGO_PKG_VERSION"));

/// A remote that has said what it can do.
pub(super) struct Remote {
    url: RemoteUrl,
    has_credential: bool,
    pub(super) transport: Box<dyn Transport + Send>,
    pub(super) handshake: Handshake,
    pub(super) meter: Arc<Meter>,
}

impl Remote {
    /// Connects and has the remote introduce itself.
    pub(super) fn connect(
        url: &RemoteUrl,
        credential: Option<&Credential>,
        proxy: Option<&Proxy>,
        limits: &FetchLimits,
    ) -> Result<Self, Fault> {
        let meter = Arc::new(Meter::default());
        meter.allow(limits.listing_bytes);
        let fault = |error: &gix::Error| fault(url, credential.is_some(), &meter, limits, error);
        let mut transport = transport(url, proxy, limits, meter.clone()).map_err(|error| fault(&error))?;
        if let Some(Credential { user, secret }) = credential {
            let account = gix::sec::identity::Account {
                username: user.clone(),
                password: secret.clone(),
                oauth_refresh_token: None,
            };
            // gix forgets it when it is redirected to another host, scheme or port.
            transport.set_identity(account).map_err(|error| fault(&gix::Error::from_error(error)))?;
        }
        // There is nobody to ask for another credential.
        let nobody = |_| Ok(None);
        let handshake = gix::protocol::handshake(&mut transport, Service::UploadPack, nobody, Vec::new(), &mut Discard)
            .map_err(|error| fault(&error))?;
        Ok(Self { url: url.clone(), has_credential: credential.is_some(), transport, handshake, meter })
    }

    /// The remote's refs, at least those that are wanted.
    pub(super) fn refs(&mut self, wanted: &[Wanted], limits: &FetchLimits) -> Result<Vec<Ref>, Fault> {
        if let Some(refs) = self.handshake.refs.take() {
            return Ok(refs);
        }
        let mut prefixes = RefPrefixes::new();
        prefixes.extend(wanted.iter().flat_map(Wanted::prefixes));
        if wanted.iter().all(|wanted| wanted.prefixes().is_empty()) {
            return Ok(Vec::new());
        }
        LsRefsCommand::new(Some(prefixes), &self.handshake.capabilities, agent())
            .invoke_blocking(&mut self.transport, &mut Discard, false)
            .map_err(|error| self.fault(limits, &error))
    }

    /// What an error of gix means.
    pub(super) fn fault(&self, limits: &FetchLimits, error: &gix::Error) -> Fault {
        fault(&self.url, self.has_credential, &self.meter, limits, error)
    }
}

/// How we name ourselves in git's own protocol.
pub(super) fn agent() -> gix::protocol::command::Feature {
    ("agent", Some(AGENT.to_owned()))
}

fn transport(
    url: &RemoteUrl,
    proxy: Option<&Proxy>,
    limits: &FetchLimits,
    meter: Arc<Meter>,
) -> Result<Box<dyn Transport + Send>, gix::Error> {
    let parsed = gix::url::parse(url.as_str())?;
    if url.scheme() == "file" {
        let options = connect::Options { version: Protocol::V2, ..connect::Options::default() };
        return connect::connect(parsed, options);
    }
    let proxy = proxy.cloned();
    let silence = limits.silence;
    let configure = move |builder: reqwest::blocking::ClientBuilder| {
        let builder = builder.https_only(true).no_proxy().connect_timeout(CONNECT).timeout(silence);
        let Some(Proxy { address, user, secret, .. }) = &proxy else { return Ok(builder) };
        let proxy = reqwest::Proxy::all(format!("http://{address}")).map_err(gix::Error::from_error)?;
        Ok(builder.proxy(proxy.basic_auth(user, secret)))
    };
    let backend = http::reqwest::Options { configure_client: Some(Box::new(configure)), configure_request: None };
    let client = Bounded { client: http::reqwest::Remote::default(), meter };
    let mut transport = http::Transport::new_http(client, parsed, Protocol::V2, false);
    let options = http::Options { backend: Some(Arc::new(Mutex::new(backend))), ..http::Options::default() };
    gix::protocol::transport::client::TransportWithoutIO::configure(&mut transport, &options)?;
    Ok(Box::new(transport))
}

fn fault(url: &RemoteUrl, has_credential: bool, meter: &Meter, limits: &FetchLimits, error: &gix::Error) -> Fault {
    if meter.is_over() {
        let limit = limits.bytes.max(limits.listing_bytes);
        return Fault::new(FaultCode::TooLarge, format!("`{url}` sends more than {limit} bytes (too_large)"));
    }
    let http = error.downcast_any_ref::<reqwest::Error>();
    let status = http.and_then(reqwest::Error::status).map(|status| status.as_u16());
    let code = match status {
        Some(401) | None if error.is_unauthenticated() || is_asked_who(error) => asked_who(has_credential),
        Some(401 | 403 | 407) => asked_who(has_credential),
        Some(404 | 410) => FaultCode::NotFound,
        Some(429 | 500..) => FaultCode::Unreachable,
        None if error.is_resource_exhausted() => FaultCode::TooLarge,
        None if http.is_some() || error.is_retryable() => FaultCode::Unreachable,
        _ => FaultCode::Protocol,
    };
    Fault::new(code, format!("`{url}` could not be fetched: {}", reason(error)))
}

/// A remote that asks who is there says it in an error of the connection.
fn is_asked_who(error: &gix::Error) -> bool {
    error.downcast_any_ref::<gix::protocol::transport::client::AuthenticationRequired>().is_some()
}

const fn asked_who(has_credential: bool) -> FaultCode {
    if has_credential { FaultCode::CredentialRefused } else { FaultCode::CredentialWanted }
}
