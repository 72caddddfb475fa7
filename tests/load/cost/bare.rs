//! The bare side: a router that runs an answer's statements, each by itself, as the superuser, reads the facts of files
//! that they give, and says the answer.
//! Nobody is asked who they are, no row is kept from anyone, and nothing is written down.

use std::io::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgPoolOptions, PgRow, PgTypeInfo};
use sqlx::{AssertSqlSafe, Encode, PgPool, Postgres, Row as _, Type};
use sync_core::graph::CallSite;
use sync_store::PoolOptions;

use super::capture::Statement;

/// The variable that makes a test process the bare side: what it serves, in a file.
pub(super) const SERVED: &str = "SYNC_TESTS_LOAD_BARE";

/// What is served.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Served {
    /// Address of the database.
    pub(super) database: String,
    /// What is run for each request.
    pub(super) statements: Vec<Statement>,
    /// What is said then.
    pub(super) answer: Value,
}

/// No test: the bare side as a process of its own, which the measurement starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the measurement, in a process of its own"]
async fn serves() {
    let Some(file) = std::env::var_os(SERVED) else { return };
    let served: Served = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    // As many connections as the product has.
    let most = PoolOptions::default().max_connections;
    let pool = PgPoolOptions::new().max_connections(most).connect(&served.database).await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut out = std::io::stderr();
    writeln!(out, "{}", serde_json::json!({ "message": "serving", "address": listener.local_addr().unwrap() }))
        .unwrap();
    let router = Router::new().route("/mcp", post(answer)).with_state(Arc::new((pool, served)));
    axum::serve(listener, router).await.unwrap();
}

async fn answer(
    State(bare): State<Arc<(PgPool, Served)>>,
    Json(_question): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let (pool, served) = &*bare;
    run(pool, &served.statements).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(Json(served.answer.clone()))
}

async fn run(pool: &PgPool, statements: &[Statement]) -> Result<(), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    for statement in statements {
        let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
        for (oid, bytes) in &statement.parameters {
            query = query.bind(Parameter { oid: *oid, bytes: bytes.clone() });
        }
        for row in query.fetch_all(&mut *connection).await? {
            read_facts(&row)?;
        }
    }
    Ok(())
}

/// Call sites of a file, as the answer reads them. They lie in the rows as compressed JSON.
#[derive(Deserialize)]
struct Facts {
    call_sites: Vec<CallSite>,
}

fn read_facts(row: &PgRow) -> Result<(), sqlx::Error> {
    for at in 0..row.len() {
        let value = row.try_get_raw(at)?;
        let Ok(bytes) = value.as_bytes() else { continue };
        if !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            continue;
        }
        let json = zstd::decode_all(bytes)?;
        let facts: Facts = serde_json::from_slice(&json).map_err(|error| sqlx::Error::Decode(error.into()))?;
        std::hint::black_box(facts.call_sites);
    }
    Ok(())
}

/// A parameter as it was captured.
struct Parameter {
    oid: u32,
    bytes: Option<Vec<u8>>,
}

impl Type<Postgres> for Parameter {
    fn type_info() -> PgTypeInfo {
        // Each has its own, by `produces`.
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, Postgres> for Parameter {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Some(bytes) = &self.bytes else { return Ok(IsNull::Yes) };
        buffer.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(Oid(self.oid)))
    }
}
