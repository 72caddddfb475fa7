//! `POST /webhooks/{provider}/{endpoint}`: from the bytes to the answer.
//!
//! An endpoint that does not exist, one of another forge and a wrong signature are answered with the same bytes, after the
//! same work: who does not have the secret learns nothing.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use secrecy::{ExposeSecret, SecretSlice};
use serde::Serialize;
use sync_core::ids::{JobId, OrganizationId};
use sync_core::principal::Principal;
use sync_store::{
    Forge, Outcome, Protocol, SealedSecret, SecretPurpose, StoreError, WebhookDoor, previous_secret_name,
};
use time::OffsetDateTime;

use super::act::{Taken, act};
use super::event::{self, Unreadable};
use super::signature::{Verified, verify};
use super::tally::Ended;
use super::{BadAddress, EndpointAddress};
use crate::app::App;
use crate::audit::Failure as _;
use crate::http::body;
use crate::http::entrance::Entrance;
use crate::http::problem::Problem;

/// The longest delivery: what GitHub sends at most.
pub const MAX_BODY_BYTES: usize = 25 * 1024 * 1024;

/// What a delivery is checked against where there is no endpoint, so that it takes as long.
const NOBODYS: &[u8] = b"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// What is shown with an endpoint whose deliveries are not signed with its secret.
const BAD_SIGNATURE: &str =
    "a delivery came whose signature is wrong; next: enter the webhook's secret at the forge anew, or make another one";

/// What is answered to a delivery that is taken.
#[derive(Serialize)]
struct Told {
    outcome: &'static str,
    job_id: Option<JobId>,
    duplicate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Takes a delivery.
pub async fn endpoint(
    State(app): State<Arc<App>>,
    Path((provider, address)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let entrance = match Entrance::of(&app, Protocol::Webhook, &parts, "/mcp") {
        Ok(entrance) => entrance,
        Err(foreign) => return foreign,
    };
    if let Err(too_many) = app.limits.strange_delivery(entrance.client_ip()) {
        return entrance.turn_away(too_many.problem());
    }
    let delivery = Delivery {
        address: address.parse(),
        forge: Forge::named(&provider),
        headers: parts.headers,
        client_ip: entrance.client_ip(),
        app: app.clone(),
    };
    // Before the body is read: what is for nobody is not held.
    let door = match delivery.door().await {
        Ok(door) => door,
        Err(error) => return entrance.turn_away(error.into()),
    };
    let place = async {
        match &delivery.address {
            Ok(address) if door.is_some() => app.large.place(*address).await,
            _ => None,
        }
    };
    let (body, place) = match body::read_up_to(body, MAX_BODY_BYTES, place).await {
        Ok(read) => read,
        Err(problem) => return entrance.turn_away(problem),
    };
    let request_id = entrance.request_id;
    entrance
        .detached(async move {
            let told = delivery.take(door, body).await;
            drop(place);
            told.map_or_else(|problem| problem.response(Some(request_id)), said)
        })
        .await
}

/// A delivery as it came.
struct Delivery {
    app: Arc<App>,
    address: Result<EndpointAddress, BadAddress>,
    forge: Option<Forge>,
    headers: HeaderMap,
    client_ip: Option<std::net::IpAddr>,
}

impl Delivery {
    async fn take(&self, door: Option<WebhookDoor>, body: bytes::Bytes) -> Result<Taken, Problem> {
        let now = self.app.clock.now();
        let (verified, endpoint, active) = match (self.verified(door.as_ref(), body, now), door) {
            (Some(verified), Some(door)) => (verified, door.endpoint, door.organization_active),
            (_, None) => return Err(self.nobodys()),
            (None, Some(door)) => {
                return Err(self.badly_signed(&door));
            }
        };
        let (organization, id) = (self.organization(), endpoint.id);
        let counted = |ended| self.app.deliveries.count(organization, id, endpoint.repository, ended);
        if let Err(too_many) = self.app.limits.delivery(organization, id) {
            counted(Ended { outcome: Outcome::Refused, code: Some("rate_limited") });
            return Err(too_many.problem());
        }
        if !active {
            counted(Ended { outcome: Outcome::Refused, code: Some("organization_suspended") });
            return Err(suspended());
        }
        self.app.deliveries.parsing();
        let read = event::read(endpoint.forge, &self.headers, &verified);
        let delivery = read.map_err(|Unreadable(why)| {
            counted(Ended { outcome: Outcome::Refused, code: Some("unreadable_delivery") });
            self.app.deliveries.problem(organization, id, why);
            unreadable(why)
        })?;
        let key = event::key(endpoint.forge, &self.headers, &verified);
        drop(verified);
        let turn = self.app.gates.turn(EndpointAddress { organization, id }).await;
        let acted = async {
            let forge = Principal::service(organization, "webhook");
            let mut tx = self.app.store.begin_change(&forge).await?;
            let taken = act(&mut tx, &self.app.config, &endpoint, &delivery, &key, now).await?;
            tx.commit().await?;
            Ok::<_, StoreError>(taken)
        };
        let acted = acted.await;
        drop(turn);
        match acted {
            Ok(Some(taken)) => {
                self.app.deliveries.well(organization, id);
                counted(Ended { outcome: Outcome::Ok, code: None });
                Ok(taken)
            }
            // It was removed, or its source is being erased, since it was looked up.
            Ok(None) => Err(self.nobodys()),
            Err(error) => {
                let problem = Problem::from(error);
                counted(Ended { outcome: problem.outcome(), code: Some(problem.code) });
                Err(problem)
            }
        }
    }

    /// The endpoint that the delivery is for, where there is one of that forge.
    async fn door(&self) -> Result<Option<WebhookDoor>, StoreError> {
        let Ok(address) = &self.address else { return Ok(None) };
        let mut tx = self.app.store.authenticate(address.organization).await?;
        let door = tx.webhook(address.id).await?;
        tx.commit().await?;
        Ok(door.filter(|door| Some(door.endpoint.forge) == self.forge))
    }

    /// The delivery, where it is signed with one of the endpoint's secrets.
    fn verified(&self, door: Option<&WebhookDoor>, body: bytes::Bytes, now: OffsetDateTime) -> Option<Verified> {
        let forge = self.forge.unwrap_or(Forge::Github);
        let Some(door) = door else {
            // The same work, for nothing: what comes of it is not looked at.
            let _ = verify(forge, &self.headers, body, &[NOBODYS], now);
            return None;
        };
        let id = door.endpoint.id;
        let previous = door.previous.as_ref().filter(|_| door.endpoint.previous_until.is_some_and(|until| now < until));
        let opened: Vec<SecretSlice<u8>> = [
            door.secret.as_ref().and_then(|sealed| self.opened(&id.to_string(), sealed)),
            previous.and_then(|sealed| self.opened(&previous_secret_name(id), sealed)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let secrets: Vec<&[u8]> = opened.iter().map(ExposeSecret::expose_secret).collect();
        verify(forge, &self.headers, body, &secrets, now)
    }

    fn opened(&self, name: &str, sealed: &SealedSecret) -> Option<SecretSlice<u8>> {
        let opened = self.app.secrets.open(self.organization(), SecretPurpose::WebhookSecret, name, sealed);
        opened.inspect_err(|error| tracing::error!(%error, "the secret of a webhook cannot be opened")).ok()
    }

    /// That of the address; nobody's where it is none.
    fn organization(&self) -> OrganizationId {
        self.address.as_ref().map_or(OrganizationId::from_uuid(uuid::Uuid::nil()), |address| address.organization)
    }

    fn nobodys(&self) -> Problem {
        self.app.limits.delivery_not_accepted(self.client_ip);
        self.app.refusals.count(Protocol::Webhook, self.client_ip, "unknown_endpoint");
        not_accepted()
    }

    fn badly_signed(&self, door: &WebhookDoor) -> Problem {
        self.app.limits.delivery_not_accepted(self.client_ip);
        let (organization, id) = (self.organization(), door.endpoint.id);
        let ended = Ended { outcome: Outcome::Refused, code: Some("bad_signature") };
        self.app.deliveries.count(organization, id, door.endpoint.repository, ended);
        self.app.deliveries.problem(organization, id, BAD_SIGNATURE);
        not_accepted()
    }
}

/// What is said to all who do not have the secret.
fn not_accepted() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "not_accepted",
        "There is no webhook at this address, or the delivery is not signed with its secret.",
        "Check the address and the secret that the forge has; POST /v1/sources/{source}/webhook makes another secret.",
    )
    .with_header(header::WWW_AUTHENTICATE, "Signature")
}

/// What is said to those who have the secret, while their organization is not served.
fn suspended() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "organization_suspended",
        "The organization of this webhook is suspended: it is not served at present.",
        "Ask whoever runs this service. What was pushed meanwhile is found when the organization is served again.",
    )
}

fn unreadable(why: &'static str) -> Problem {
    let (what, next) = why.split_once("; next: ").unwrap_or((why, "report it"));
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable_delivery", format!("{what}."), format!("{next}."))
}

fn said(taken: Taken) -> Response {
    let duplicate = taken.outcome == "duplicate";
    let status = if taken.job.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
    let told = Told { outcome: taken.outcome, job_id: taken.job, duplicate, reason: taken.reason };
    let mut response = (status, axum::Json(told)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
