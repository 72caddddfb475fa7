//! A row of the log as it leaves the service.

use schemars::JsonSchema;
use serde::Serialize;
use sync_core::clock::rfc3339_millis;
use sync_store::LoggedEvent;

use crate::http::v1::words;

/// What one request asked, and how that ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "AuditEvent")]
pub struct Entry {
    /// Its id.
    #[schemars(schema_with = "words::event_id")]
    pub event_id: String,
    /// When the call began.
    #[schemars(schema_with = "words::instant")]
    pub time: String,
    /// Who, where that got known.
    pub principal_id: Option<String>,
    /// The principal's name at that time.
    pub principal: Option<String>,
    /// `user` or `service`.
    pub principal_kind: Option<String>,
    /// The token's or the issuer's id, never the secret.
    pub credential_id: Option<String>,
    /// `mcp`, `rest`, `otlp`, `webhook` or `cli`.
    pub protocol: String,
    /// What was asked: `mcp.tools/call:sync_whats_at_risk`, `rest.list_audit_events`.
    pub action: String,
    /// The repository it was about, where it exists and could be read.
    pub repository_id: Option<String>,
    /// Its name at that time.
    pub repository_name: Option<String>,
    /// Keyed digest of the arguments: the same for the same arguments within an organization.
    pub arguments_digest: Option<String>,
    /// `ok`, `refused`, `error` or `timeout`; null as long as a call with outside effects has not ended.
    pub outcome: Option<String>,
    /// Why, where it did not end well.
    pub code: Option<String>,
    /// Rows answered.
    pub rows: Option<u64>,
    /// How long it took, in microseconds.
    pub duration_us: Option<u64>,
    /// The request, as in its `X-Request-Id`.
    #[schemars(schema_with = "words::request_id")]
    pub request_id: String,
    /// Whence.
    pub client_ip: Option<String>,
    /// Number of the seal that covers it; null as long as none does.
    pub sealed_in: Option<u64>,
}

impl Entry {
    /// Names of the columns of a table of entries.
    pub const NAMES: [&str; 18] = [
        "event_id",
        "time",
        "principal_id",
        "principal",
        "principal_kind",
        "credential_id",
        "protocol",
        "action",
        "repository_id",
        "repository_name",
        "arguments_digest",
        "outcome",
        "code",
        "rows",
        "duration_us",
        "request_id",
        "client_ip",
        "sealed_in",
    ];

    /// Appends it as a line of a table (RFC 4180).
    pub fn write_csv(&self, to: &mut Vec<u8>) {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let cells = [
            self.event_id.clone(),
            self.time.clone(),
            text(&self.principal_id),
            text(&self.principal),
            text(&self.principal_kind),
            text(&self.credential_id),
            self.protocol.clone(),
            self.action.clone(),
            text(&self.repository_id),
            text(&self.repository_name),
            text(&self.arguments_digest),
            text(&self.outcome),
            text(&self.code),
            number(self.rows),
            number(self.duration_us),
            self.request_id.clone(),
            text(&self.client_ip),
            number(self.sealed_in),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        to.extend_from_slice(cells.join(",").as_bytes());
        to.extend_from_slice(b"\r\n");
    }
}

/// A cell. One that a spreadsheet would take for a formula begins with an apostrophe: names are chosen by whoever is
/// written about.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !formula && !cell.contains(['"', ',', '\n', '\r']) {
        return cell.to_owned();
    }
    format!("\"{}{}\"", if formula { "'" } else { "" }, cell.replace('"', "\"\""))
}

impl From<LoggedEvent> for Entry {
    fn from(event: LoggedEvent) -> Self {
        Self {
            event_id: event.event_id.to_string(),
            time: rfc3339_millis(event.time),
            principal_id: event.principal_id.map(|id| id.to_string()),
            principal: event.principal,
            principal_kind: event.principal_kind,
            credential_id: event.credential_id,
            protocol: event.protocol,
            action: event.action,
            repository_id: event.repository_id.map(|id| id.to_string()),
            repository_name: event.repository_name,
            arguments_digest: event.arguments_digest.map(hex::encode),
            outcome: event.outcome,
            code: event.code,
            rows: event.rows,
            duration_us: event.duration_us,
            request_id: event.request_id.to_string(),
            client_ip: event.client_ip,
            sealed_in: event.sealed_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        for (cell, expected) in [
            ("Ada", "Ada"),
            ("", ""),
            ("Ada, \"the\" one", "\"Ada, \"\"the\"\" one\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }
}
