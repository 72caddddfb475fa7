//! `GET /v1/audit/proof`.

use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sync_core::ids::EventId;
use sync_core::policy::Operation;
use sync_core::seal::{Hash, Row, RowKind, SignedHead, tree};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Seals are made once a minute.
const NEXT_SEAL_S: u64 = 60;

/// Proves that a row is in the log as it was sealed.
pub(super) struct ProveAuditEvent;

/// Which row.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The event's id.
    #[schemars(schema_with = "words::event_id")]
    event: EventId,
    /// `event` (the default), or `outcome`: the row that says how a call with outside effects ended.
    kind: Option<Kind>,
}

/// Which of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// What was asked.
    Event,
    /// How it ended.
    Outcome,
}

/// A row, and the way from it to a signed head.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuditProof")]
pub(super) struct Proof {
    /// The row as it was sealed: the bytes of this text are the leaf.
    row: String,
    /// Where it stands among the leaves.
    index: u64,
    /// How many leaves there are.
    size: u64,
    /// The other hashes on the way to the root (RFC 6962), from the leaf upwards.
    path: Vec<String>,
    /// The signed head whose root that is.
    #[schemars(schema_with = "signed_head")]
    head: SignedHead,
}

fn signed_head(_: &mut SchemaGenerator) -> Schema {
    let text = |pattern: &str| serde_json::json!({ "type": "string", "pattern": pattern });
    json_schema!({
        "type": "object",
        "description": "Its signature is Ed25519 over the canonical JSON (RFC 8785) of all other members.",
        "properties": {
            "format": { "type": "integer" },
            "from_xid": text("^[0-9]+$"),
            "key_id": text("^[0-9a-f]{16}$"),
            "kind": { "type": "string", "enum": ["audit_seal"] },
            "number": { "type": "integer", "minimum": 1 },
            "organization": text("^org_[0-9a-f]{32}$"),
            "previous": text("^[0-9a-f]{64}$"),
            "root": text("^[0-9a-f]{64}$"),
            "rows": { "type": "integer", "minimum": 0 },
            "signature": text("^[0-9a-f]{128}$"),
            "time": { "type": "string", "format": "date-time" },
            "to_xid": text("^[0-9]+$"),
        },
        "required": ["format", "from_xid", "key_id", "kind", "number", "organization", "previous", "root", "rows",
                     "signature", "time", "to_xid"],
    })
}

impl Endpoint for ProveAuditEvent {
    const OPERATION: Operation = Operation::ProveAuditEvent;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/audit/proof";
    const TAG: &'static str = "audit";
    const SUMMARY: &'static str = "Proof that a row is in the sealed log";
    const DESCRIPTION: &'static str = "One row as it was sealed, and the hashes that lead from it to a signed head. \
        Whoever has the public key (`syncd audit key`) checks it without trusting this service: openapi/audit.md says how. \
        409 `not_sealed` where the row is newer than the last seal.";
    const SUBJECT: &'static str = "audit event";
    const FAILURES: &'static [StatusCode] = &[StatusCode::NOT_FOUND, StatusCode::CONFLICT];
    type Path = Nothing;
    type Query = Wanted;
    type Body = Nothing;
    type Output = Proof;
}

impl Answer for ProveAuditEvent {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Proof, Problem> {
        let kind = match input.query.kind {
            None | Some(Kind::Event) => RowKind::Event,
            Some(Kind::Outcome) => RowKind::Outcome,
        };
        let row = reading.tx.audit_row(kind, input.query.event).await?;
        let row = row.ok_or_else(|| Problem::not_found(Self::SUBJECT))?;
        let head = reading.tx.seal_of(row.xid).await?.ok_or_else(not_sealed)?;
        let rows = reading.tx.sealed_rows(head.head.from_xid, head.head.to_xid).await?;
        let leaves: Vec<Hash> = rows.iter().map(Row::leaf).collect();
        let index = rows.iter().position(|other| other.key() == row.key()).ok_or_else(|| not_whole(&head))?;
        let path = tree::path(index, &leaves).ok_or_else(|| not_whole(&head))?;
        // Proofs that lead nowhere are not handed out.
        if tree::root(&leaves) != head.head.root {
            return Err(not_whole(&head));
        }
        reading.rows(1);
        Ok(Proof {
            row: String::from_utf8_lossy(&row.canonical()).into_owned(),
            index: index as u64,
            size: leaves.len() as u64,
            path: path.iter().map(ToString::to_string).collect(),
            head,
        })
    }
}

fn not_sealed() -> Problem {
    Problem {
        retry_after_s: Some(NEXT_SEAL_S),
        ..Problem::conflict(
            "not_sealed",
            "The row is newer than the last seal, so that nothing proves it yet.",
            "Ask again in a minute; where it stays so, look whether `syncd worker` runs.",
        )
    }
}

fn not_whole(head: &SignedHead) -> Problem {
    tracing::error!(seal = head.head.number, "the rows of a seal are not those that were sealed");
    Problem::conflict(
        "not_whole",
        format!("The rows of seal {} are not those that were sealed.", head.head.number),
        "Have whoever runs this service run `syncd audit verify`, which names the row.",
    )
}
