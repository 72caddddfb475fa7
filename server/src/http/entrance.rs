//! What every request of a principal passes, whether it is a message of MCP or an operation of REST: is it addressed to
//! us, who asks, may they. Whatever ends here is counted (nobody's) or written down (a principal's).

use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use sync_core::ids::RequestId;
use sync_core::policy::{self, Operation};
use sync_core::principal::{Principal, Scope};
use sync_store::{Outcome, Protocol};
use tokio::time::{Instant, timeout_at};

use super::limits::{CredentialHash, Standings, TooMany, throttled};
use super::names::Foreign;
use super::problem::Problem;
use super::{challenge, client_address, well_known};
use crate::app::App;
use crate::audit::{Asker, AuditLedger, TOTAL_BUDGET};
use crate::identity::NotAuthenticated;
use crate::usage::Counted;

/// A request as far as it is known before its body.
pub struct Entrance {
    /// The service.
    pub app: Arc<App>,
    /// How the request came in.
    pub protocol: Protocol,
    /// Its id.
    pub request_id: RequestId,
    /// When its budget began.
    pub began: Instant,
    client_ip: Option<IpAddr>,
    /// Where a client learns who issues tokens for what it asked.
    metadata: String,
    /// How the principal stands with its limits.
    standings: Option<Standings>,
}

/// A request that goes no further.
pub enum Turned {
    /// With this response, which is counted or written down already.
    Away(Response),
    /// It is one too many of its principal, which is written down or counted already: how that is said is the protocol's
    /// matter.
    TooMany(TooMany),
    /// Nothing is known of the credential, since the store cannot be asked: how that is said is the protocol's matter.
    Unavailable,
    /// Nothing is known of the credential, since its issuer's keys cannot be had, which is counted already: how that is
    /// said is the protocol's matter.
    IssuerUnavailable,
}

impl Entrance {
    /// Of a request to the protected resource at that path (`/mcp`), or what turns it away before anyone asks who it
    /// is from.
    pub fn of(app: &Arc<App>, protocol: Protocol, parts: &Parts, resource: &str) -> Result<Self, Response> {
        let entrance = Self {
            request_id: parts.extensions.get().copied().unwrap_or_else(|| RequestId::at(app.clock.now())),
            client_ip: client_address::of(&parts.headers, &parts.extensions, app.config.forwarded_hops),
            metadata: well_known::address(&app.public_url, resource),
            standings: None,
            began: Instant::now(),
            app: app.clone(),
            protocol,
        };
        match app.names.check(&parts.headers, &parts.uri) {
            Ok(()) => Ok(entrance),
            Err(foreign) => Err(entrance.turn_away(foreign_problem(foreign))),
        }
    }

    /// Who asks. `wanted` is the scope of the challenge where nobody does; `action` is what is written down of a
    /// credential that is good for nothing any more. The credential goes no further than this: into no handler, no
    /// library and no log.
    pub async fn principal(
        &mut self,
        headers: &mut HeaderMap,
        wanted: Scope,
        action: &'static str,
    ) -> Result<Principal, Turned> {
        let given: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().cloned().collect();
        headers.remove(header::AUTHORIZATION);
        let credential = match given.as_slice() {
            [] => return Err(Turned::Away(self.turn_away(challenge::missing(&self.metadata, wanted)))),
            [one] => one.as_bytes(),
            // Which of two would count? Neither: empty text is no credential.
            _ => &b""[..],
        };
        let hash = CredentialHash::of(credential);
        let known = self.count(hash).await?;
        if !known && let Err(too_many) = self.app.limits.stranger(self.client_ip) {
            return Err(Turned::Away(self.turn_away(too_many.problem())));
        }
        let refused = match self.authenticate(credential).await {
            Ok(principal) => {
                self.app.usage.count(principal.organization, Counted::Request);
                // Where the plan cannot be read, nothing else can: the request ends soon, by the usual quota.
                let plan = self.app.plans.of(principal.organization).await.ok();
                let requests_per_minute = plan.and_then(|plan| plan.requests_per_minute);
                let requests_per_minute = requests_per_minute.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
                self.app.limits.accepted(hash, &principal, requests_per_minute);
                if !known {
                    self.count(hash).await?;
                }
                return Ok(principal);
            }
            Err(NotAuthenticated::Unavailable) => return Err(Turned::Unavailable),
            Err(NotAuthenticated::IssuerUnavailable) => {
                self.app.refusals.count(self.protocol, self.client_ip, "issuer_unavailable");
                return Err(Turned::IssuerUnavailable);
            }
            Err(NotAuthenticated::Missing) => {
                return Err(Turned::Away(self.turn_away(challenge::missing(&self.metadata, wanted))));
            }
            Err(NotAuthenticated::Refused(refused)) => refused,
        };
        self.app.limits.forget(hash);
        self.app.limits.not_accepted(self.client_ip);
        let problem = challenge::refused(&self.metadata, wanted, refused.code, &refused.description);
        Err(Turned::Away(match refused.principal {
            None => self.turn_away(problem),
            Some(principal) => self.refuse(principal, action, problem).await,
        }))
    }

    /// Counts the request where its credential is known, and says whether it is.
    async fn count(&mut self, credential: CredentialHash) -> Result<bool, Turned> {
        let Some((principal, counted)) = self.app.limits.known(credential) else { return Ok(false) };
        let (too_many, standings) = match counted {
            Ok(standings) => {
                self.standings = Some(standings);
                return Ok(true);
            }
            Err(refused) => refused,
        };
        self.standings = Some(standings);
        if !self.app.limits.throttled.refused(&principal, self.protocol) {
            return Err(Turned::TooMany(too_many));
        }
        let asker = self.asker((*principal).clone(), throttled::action(self.protocol), None);
        let app = self.app.clone();
        let recorded = self
            .app
            .work
            .spawn(async move { app.auditor.record(&asker, None, None, Outcome::Refused, Some("rate_limited")).await });
        match recorded.await {
            Ok(Ok(())) => Err(Turned::TooMany(too_many)),
            _ => Err(Turned::Unavailable),
        }
    }

    /// The peer's address, or the one that a trusted proxy reported.
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.client_ip
    }

    /// Tells the principal how it stands with its limits.
    pub fn stamped(&self, mut response: Response) -> Response {
        if let Some(standings) = &self.standings {
            standings.stamp(&mut response);
        }
        response
    }

    /// Whether the principal may do this at all, by the one table; where not, that is written down as `action`.
    pub async fn permit(
        &self,
        principal: &Principal,
        operation: Operation,
        action: &'static str,
    ) -> Result<(), Response> {
        match policy::decide(principal, operation) {
            Ok(()) => Ok(()),
            Err(denied) => {
                let problem = challenge::denied(&self.metadata, denied);
                Err(self.refuse(principal.clone(), action, problem).await)
            }
        }
    }

    /// Answers a request of no organization: counted, not written down.
    pub fn turn_away(&self, problem: Problem) -> Response {
        self.app.refusals.count(self.protocol, self.client_ip, problem.code);
        problem.response(Some(self.request_id))
    }

    /// Refuses a request of a known principal, which is written down first.
    pub async fn refuse(&self, principal: Principal, action: &'static str, problem: Problem) -> Response {
        let asker = self.asker(principal, action, None);
        let (app, request_id) = (self.app.clone(), self.request_id);
        self.detached(async move {
            match app.auditor.record(&asker, None, None, Outcome::Refused, Some(problem.code)).await {
                Ok(()) => problem.response(Some(request_id)),
                Err(_unrecorded) => Problem::unavailable().response(Some(request_id)),
            }
        })
        .await
    }

    /// The principal as the one who asks this. `door` is the audit row's action, or its first part.
    pub fn asker(&self, principal: Principal, door: &'static str, pinned_repository: Option<Arc<str>>) -> Asker {
        Asker {
            principal: Arc::new(principal),
            request_id: self.request_id,
            protocol: self.protocol,
            door,
            began: self.began,
            client_ip: self.client_ip,
            pinned_repository,
            ledger: AuditLedger::default(),
        }
    }

    /// Works on to the end whether the connection lives or not: an answer that was made is written down, and the
    /// database sees no transaction dropped halfway. The response says how the principal stands with its limits.
    pub async fn detached(&self, work: impl Future<Output = Response> + Send + 'static) -> Response {
        let request_id = self.request_id;
        match self.app.work.spawn(tracing::Instrument::in_current_span(work)).await {
            Ok(response) => self.stamped(response),
            Err(error) => {
                tracing::error!(%error, "work on a request ended early");
                Problem::internal().response(Some(request_id))
            }
        }
    }

    async fn authenticate(&self, credential: &[u8]) -> Result<Principal, NotAuthenticated> {
        let authenticated = self.app.authenticator.authenticate(Some(credential));
        match timeout_at(self.began + TOTAL_BUDGET, authenticated).await {
            Ok(authenticated) => authenticated,
            Err(_elapsed) => Err(NotAuthenticated::Unavailable),
        }
    }
}

fn foreign_problem(foreign: Foreign) -> Problem {
    let (code, detail, next_step) = match foreign {
        Foreign::Host => (
            "foreign_host",
            "This service is not served under the name in the Host header.",
            "Use its public address; the operator adds names with allowed_hosts.",
        ),
        Foreign::Origin => (
            "foreign_origin",
            "Web pages of the origin in the Origin header may not call this service.",
            "Agents send no Origin; the operator adds origins with allowed_origins.",
        ),
    };
    Problem::new(StatusCode::FORBIDDEN, code, detail, next_step)
}
