//! `/v1`: one file per operation, and the table of them. [`openapi`] describes them from their types.
//!
//! A new operation is
//! 1. a row in `core/src/policy.rs` (who may, how the audit log calls it),
//! 2. a file here with a type that is an [`endpoint::Endpoint`] (where it stands, what it takes, how it is described)
//!    and an [`endpoint::Answer`] (what it does),
//! 3. a line in [`ROUTES`],
//! 4. `syncd openapi`, which writes `openapi/sync.v1.json` anew.
//!
//! Authentication, permission, the audit row, limits and everything that is said of a bad request are not its concern.

mod add_documents;
mod audit_filter;
mod cancel_job;
mod change_member;
mod change_organization;
mod change_source;
mod create_issuer;
mod create_member;
mod create_token;
mod delete_credential;
mod delete_grant;
mod delete_issuer;
mod delete_source;
mod delete_webhook;
pub mod endpoint;
mod export_audit_log;
mod get_job;
mod get_member;
mod get_organization;
mod get_provider;
mod get_source;
mod get_usage;
mod idempotency;
mod input;
mod list_audit_events;
mod list_grants;
mod list_issuers;
mod list_members;
mod list_sources;
mod list_tokens;
pub mod openapi;
pub mod page;
mod prove_audit_event;
mod put_consent;
mod put_credential;
mod put_grant;
mod put_webhook;
mod refresh_source;
mod register_source;
mod repository_named;
mod revoke_token;
mod rotate_token;
mod source_views;
mod upload_snapshot;
mod views;
pub mod words;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use futures::future::BoxFuture;
use http::Method;
use sync_core::policy::Operation;

use crate::app::App;
use endpoint::{Answer, Endpoint, Respond};

/// Every operation, in the order of the OpenAPI file.
static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        answer::<get_organization::GetOrganization>(),
        answer::<change_organization::ChangeOrganization>(),
        answer::<list_audit_events::ListAuditEvents>(),
        respond::<export_audit_log::ExportAuditLog>(),
        answer::<prove_audit_event::ProveAuditEvent>(),
        answer::<list_members::ListMembers>(),
        answer::<create_member::CreateMember>(),
        answer::<get_member::GetMember>(),
        answer::<change_member::ChangeMember>(),
        answer::<list_grants::ListGrants>(),
        answer::<put_grant::PutGrant>(),
        answer::<delete_grant::DeleteGrant>(),
        answer::<list_tokens::ListTokens>(),
        answer::<create_token::CreateToken>(),
        answer::<rotate_token::RotateToken>(),
        answer::<revoke_token::RevokeToken>(),
        answer::<list_issuers::ListIssuers>(),
        answer::<create_issuer::CreateIssuer>(),
        answer::<delete_issuer::DeleteIssuer>(),
        answer::<get_usage::GetUsage>(),
        answer::<get_provider::GetProvider>(),
        answer::<list_sources::ListSources>(),
        answer::<register_source::RegisterSource>(),
        answer::<get_source::GetSource>(),
        answer::<change_source::ChangeSource>(),
        answer::<refresh_source::RefreshSource>(),
        answer::<put_consent::PutConsent>(),
        answer::<put_credential::PutCredential>(),
        answer::<delete_credential::DeleteCredential>(),
        answer::<put_webhook::PutWebhook>(),
        answer::<delete_webhook::DeleteWebhook>(),
        answer::<add_documents::AddDocuments>(),
        answer::<get_job::GetJob>(),
        answer::<cancel_job::CancelJob>(),
        respond::<upload_snapshot::UploadSnapshot>(),
        answer::<delete_source::DeleteSource>(),
    ]
});

/// Every operation.
pub fn routes() -> &'static [Route] {
    &ROUTES
}

/// One operation as the router and the description see it.
pub struct Route {
    /// Its row in the table of who may do what.
    pub operation: Operation,
    /// Its method.
    pub method: Method,
    /// Its path, with the names of its parts in braces.
    pub path: &'static str,
    serve: fn(Arc<App>, Request) -> BoxFuture<'static, Response>,
    describe: fn(&mut openapi::Describer) -> serde_json::Value,
}

/// The routes of the service.
pub fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let Ok(method) = MethodFilter::try_from(route.method.clone()) else { continue };
        let (app, serve) = (app.clone(), route.serve);
        router = router.route(route.path, on(method, move |request: Request| serve(app, request)));
    }
    router
}

/// Reads the query of a list of the audit log.
#[cfg(any(test, fuzzing))]
pub(crate) fn audit_query_for_fuzzing(query: &str) {
    list_audit_events::query_for_fuzzing(query);
}

/// An operation of the usual kind.
fn answer<E: Answer>() -> Route {
    route::<E>(|app, request| Box::pin(endpoint::answer::<E>(app, request)))
}

/// An operation that makes its response itself.
fn respond<E: Respond>() -> Route {
    route::<E>(|app, request| Box::pin(endpoint::respond::<E>(app, request)))
}

fn route<E: Endpoint>(serve: fn(Arc<App>, Request) -> BoxFuture<'static, Response>) -> Route {
    Route {
        operation: E::OPERATION,
        method: E::METHOD,
        path: E::PATH,
        serve,
        describe: openapi::Describer::operation::<E>,
    }
}
