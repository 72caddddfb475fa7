//! `PUT /v1/sources/{source}/credential`.

use http::Method;
use sync_core::policy::Operation;
use sync_store::{Forge, JobCause, JobKind};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::register_source::NewCredential;
use super::repository_named::RepositoryNamed;
use super::source_views::{SourcePath, SourceStatus, lasting, status};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;
use crate::sources::refresh::may_refresh;
use crate::sources::register::enqueue;

/// Store what a source is fetched with.
pub(super) struct PutCredential;

impl Endpoint for PutCredential {
    const OPERATION: Operation = Operation::PutCredential;
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/v1/sources/{source}/credential";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Store what a source is fetched with";
    const DESCRIPTION: &'static str = "It takes the place of the one before, is stored encrypted and never shown again. The default branch is then indexed as soon as a worker is free, where fetching is allowed.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = NewCredential;
    type Output = SourceStatus;
}

impl Answer for PutCredential {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<SourceStatus, Problem> {
        let source = lasting(reading, &input.path.source).await?;
        let forge = source.provider.as_deref().and_then(Forge::named);
        input.body.store(call, reading, source.id, forge).await?;
        if may_refresh(&source).is_ok() {
            enqueue(&mut reading.tx, source.id, JobKind::Reindex, None, JobCause::Person, reading.now).await?;
        }
        status(call, reading, &RepositoryNamed::Id(source.id)).await
    }
}
