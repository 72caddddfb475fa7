//! What `syncd dev` prints once the first index can be asked: a line for scripts, or blocks to paste into an agent.

use std::io::{self, Write};

use serde::Serialize;

/// Where everything is. The keys of the JSON line only grow.
#[derive(Debug, Clone, Serialize)]
pub struct Announcement {
    /// Where agents ask; ends in `/mcp`.
    pub mcp_url: String,
    /// Origin of everything else on HTTP.
    pub api_url: String,
    /// Where spans go over HTTP; null until they are received.
    pub otlp_http_url: Option<String>,
    /// Where spans go over gRPC; null until they are received.
    pub otlp_grpc_url: Option<String>,
    /// The owner's token.
    pub token: String,
    /// The organization's name.
    pub organization: String,
    /// The repository's name.
    pub repository: String,
    /// The database as the service's own role.
    pub database_url: String,
    /// The database as its owner.
    pub owner_database_url: String,
}

/// Prints it on stdout: one line of JSON, or what to paste. `administer`: how other commands are called on it.
pub(super) fn print(announcement: &Announcement, as_json: bool, name_it: bool, administer: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json { json(&mut out, announcement) } else { blocks(&mut out, announcement, name_it, administer) }
}

/// One line of JSON.
fn json(to: &mut impl Write, announcement: &Announcement) -> io::Result<()> {
    serde_json::to_writer(&mut *to, announcement)?;
    writeln!(to)?;
    to.flush()
}

/// What to paste where, and what to ask. `name_it`: questions have to name the repository.
fn blocks(to: &mut impl Write, announcement: &Announcement, name_it: bool, administer: &str) -> io::Result<()> {
    let Announcement { mcp_url, api_url, token, organization, repository, .. } = announcement;
    // One finding: who looks at it in a terminal wants to see that it works.
    let arguments =
        if name_it { format!(r#"{{"limit":1,"repository":"{repository}"}}"#) } else { r#"{"limit":1}"#.to_owned() };
    write!(
        to,
        r#"
Sync answers for {repository} at {mcp_url}

Claude Code
  claude mcp add --transport http sync {mcp_url} --header "Authorization: Bearer {token}"

VS Code (.vscode/mcp.json)
  {{"servers": {{"sync": {{"type": "http", "url": "{mcp_url}", "headers": {{"Authorization": "Bearer {token}"}}}}}}}}

Cursor (.cursor/mcp.json)
  {{"mcpServers": {{"sync": {{"url": "{mcp_url}", "headers": {{"Authorization": "Bearer {token}"}}}}}}}}

Codex (~/.codex/config.toml; it takes the token from the environment: export SYNC_TOKEN={token})
  [mcp_servers.sync]
  url = "{mcp_url}"
  bearer_token_env_var = "SYNC_TOKEN"

No agent at hand
  curl -sS {mcp_url} -H "Authorization: Bearer {token}" -H "Content-Type: application/json" -H "Accept: application/json, text/event-stream" -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"sync_whats_at_risk","arguments":{arguments}}}}}'

Administer it, and see who asked what ({api_url}/openapi.json describes the same over HTTP)
  {administer} audit tail --organization {organization}
  {administer} --help

Then ask: "Which of our calls to vendors are about to break, and where? Use sync_whats_at_risk."
Ctrl-C stops it; the next start on the same folder is quick.
"#
    )?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement() -> Announcement {
        Announcement {
            mcp_url: "http://127.0.0.1:8787/mcp".into(),
            api_url: "http://127.0.0.1:8787".into(),
            otlp_http_url: None,
            otlp_grpc_url: None,
            token: "sync_t".into(),
            organization: "dev".into(),
            repository: "example/billing".into(),
            database_url: "postgres://a".into(),
            owner_database_url: "postgres://b".into(),
        }
    }

    #[test]
    fn scripts_get_one_line_with_every_key() {
        let mut out = Vec::new();
        json(&mut out, &announcement()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"mcp_url":"http://127.0.0.1:8787/mcp","api_url":"http://127.0.0.1:8787","otlp_http_url":null,"#,
                r#""otlp_grpc_url":null,"token":"sync_t","organization":"dev","repository":"example/billing","#,
                r#""database_url":"postgres://a","owner_database_url":"postgres://b"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn the_blocks_of_json_parse_and_carry_the_token() {
        let mut out = Vec::new();
        blocks(&mut out, &announcement(), true, "syncd --dev").unwrap();
        let text = String::from_utf8(out).unwrap();
        let json: Vec<serde_json::Value> =
            text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("  ")?).ok()).collect();
        assert_eq!(json.len(), 2);
        assert_eq!(json[0]["servers"]["sync"]["headers"]["Authorization"], "Bearer sync_t");
        assert_eq!(json[1]["mcpServers"]["sync"]["url"], "http://127.0.0.1:8787/mcp");
        let body = text.lines().find_map(|line| line.split_once("-d '")?.1.strip_suffix('\'')).unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["params"]["arguments"]["repository"], "example/billing");
    }
}
