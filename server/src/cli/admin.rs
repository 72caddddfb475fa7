//! Administration without HTTP: whoever has the database's address is the operator. Every change is written down in the
//! organization's audit log, in its transaction.

mod grants;
mod issuers;
mod members;
mod organizations;
mod sources;
mod tokens;

pub(super) use grants::{GrantCommand, grant};
pub(super) use issuers::{IssuerCommand, issuer};
pub(super) use members::{MemberCommand, member};
pub(super) use organizations::{OrganizationCommand, organization};
pub(super) use sources::{SourceCommand, source};
pub(super) use tokens::{TokenCommand, token};

use serde_json::Value;
use sync_core::clock::{Clock as _, rfc3339_millis};
use sync_core::ids::{EventId, OrganizationId, PrincipalId, RequestId};
use sync_core::principal::{Principal, PrincipalKind};
use sync_store::{AuditEvent, MemberRow, Outcome, PoolOptions, Protocol, Store, StoreError, Tx};
use time::{Duration, OffsetDateTime};

use super::{Failure, say};
use crate::clock::SystemClock;
use crate::config::Config;

/// How many rows of a list are read at a time.
const PAGE: u32 = 200;

/// Which organization, and how what is known of it is written.
#[derive(Debug, clap::Args)]
pub(super) struct At {
    /// Short name of the organization; may be left out where there is one only.
    #[arg(long, short, value_name = "NAME")]
    organization: Option<String>,
    #[command(flatten)]
    written: Written,
}

/// How rows are written: fields with tabs between them, or JSON.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Written {
    /// Write one JSON object a line, which names its fields.
    #[arg(long)]
    json: bool,
}

impl Written {
    /// Writes a row. For people and for `cut`, a field that is nothing is a hyphen.
    fn row(self, fields: &[(&str, Value)]) -> Result<(), Failure> {
        if self.json {
            let members: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
            return say(&format!("{{{}}}", members.join(",")));
        }
        let cells: Vec<String> = fields.iter().map(|(_, value)| cell(value)).collect();
        say(&cells.join("\t"))
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Work on one organization.
struct Desk {
    store: Store,
    organization: OrganizationId,
    now: OffsetDateTime,
    written: Written,
}

impl Desk {
    /// At an organization that there is.
    async fn at(config: &Config, at: &At) -> Result<Self, Failure> {
        match &at.organization {
            Some(organization) => Self::of(config, organization, at.written).await,
            None => Self::of(config, &the_only_organization(config).await?, at.written).await,
        }
    }

    /// At the organization of that short name.
    async fn of(config: &Config, organization: &str, written: Written) -> Result<Self, Failure> {
        let store = connect(config).await?;
        let mut tx = store.system("administration").await?;
        let found = tx.organization_by_slug(organization).await?.ok_or_else(|| {
            Failure::failed(
                format!("there is no organization `{organization}`"),
                format!("syncd organization list, or syncd organization create {organization}"),
            )
        })?;
        tx.commit().await?;
        Ok(Self { store, organization: found.id, now: SystemClock.now(), written })
    }

    /// Writes a row to stdout.
    fn row(&self, fields: &[(&str, Value)]) -> Result<(), Failure> {
        self.written.row(fields)
    }

    /// A transaction to look at the organization with.
    async fn look(&self) -> Result<Tx, StoreError> {
        self.store.begin(&Principal::service(self.organization, "administration")).await
    }

    /// A transaction to change the organization with.
    async fn change(&self) -> Result<Tx, StoreError> {
        self.store.begin_write(&Principal::service(self.organization, "administration")).await
    }

    /// Writes a change down and commits both.
    async fn done(&self, mut tx: Tx, action: &'static str) -> Result<(), StoreError> {
        let operator = Principal::service(self.organization, "administration");
        let event = AuditEvent {
            event_id: EventId::at(self.now),
            time: self.now,
            principal: None,
            principal_name: Some(operator.name),
            principal_kind: Some(PrincipalKind::Service),
            credential_id: Some(operator.credential_id),
            protocol: Protocol::Cli,
            action: action.to_owned(),
            repository: None,
            arguments_digest: None,
            outcome: Some(Outcome::Ok),
            code: None,
            rows: Some(1),
            duration: None,
            request_id: RequestId::at(self.now),
            client_ip: None,
        };
        tx.record_event(&event).await?;
        tx.commit().await
    }

    /// The member of that id, or of that name where it has no identity elsewhere.
    async fn member(&self, tx: &mut Tx, named: &str) -> Result<MemberRow, Failure> {
        let id = match named.parse::<PrincipalId>() {
            Ok(id) => Some(id),
            Err(_) => tx.member_by_name(named).await?.map(|member| member.id),
        };
        let found = match id {
            Some(id) => tx.member(id).await?,
            None => None,
        };
        found.ok_or_else(|| {
            Failure::failed(
                format!("there is no member `{named}`"),
                "syncd member list names them; who comes with a JSON Web Token is named by the id",
            )
        })
    }
}

/// The organization, where there is one only.
async fn the_only_organization(config: &Config) -> Result<String, Failure> {
    let store = connect(config).await?;
    let mut tx = store.system("administration").await?;
    let known = tx.organizations().await?;
    tx.commit().await?;
    let names: Vec<&str> = known.iter().map(|known| known.slug.as_str()).collect();
    match names.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::failed("there is no organization", "syncd organization create NAME")),
        several => {
            let first = several.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            Err(Failure::refused(format!("there are several organizations: {first}"), "name one with --organization"))
        }
    }
}

async fn connect(config: &Config) -> Result<Store, Failure> {
    Ok(Store::connect(config.database_url()?, PoolOptions { max_connections: 1, ..PoolOptions::default() }).await?)
}

/// An instant, or nothing.
fn instant(at: Option<OffsetDateTime>) -> Value {
    at.map(rfc3339_millis).into()
}

fn short_name(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let good = !text.is_empty() && text.len() <= 40 && text.bytes().all(allowed) && !text.starts_with('-');
    if good { Ok(text.to_owned()) } else { Err("lower-case letters, digits and hyphens, 1 to 40".to_owned()) }
}

fn printable_name(text: &str) -> Result<String, String> {
    let good = !text.trim().is_empty() && text.chars().count() <= 100 && !text.chars().any(char::is_control);
    if good { Ok(text.to_owned()) } else { Err("1 to 100 printable characters".to_owned()) }
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "a number and d, h or m, like 90d; at most 3650d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let count: i64 = number.parse::<u32>().map_err(|_| wrong())?.into();
    let lifetime = match unit {
        "d" => Duration::days(count),
        "h" => Duration::hours(count),
        "m" => Duration::minutes(count),
        _ => return Err(wrong()),
    };
    if lifetime > Duration::ZERO && lifetime <= Duration::days(3650) { Ok(lifetime) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nothing_is_a_hyphen_for_people() {
        let list = Value::from(vec!["a", "b"]);
        let cells: Vec<String> =
            [Value::Null, Value::from("x y"), list, Value::from(5), Value::from(true)].iter().map(cell).collect();
        assert_eq!(cells, ["-", "x y", "a,b", "5", "true"]);
    }

    #[test]
    fn lifetimes_and_names() {
        assert_eq!(lifetime("90d"), Ok(Duration::days(90)));
        assert_eq!(lifetime("5m"), Ok(Duration::minutes(5)));
        for wrong in ["", "d", "90", "0d", "-1d", "99999999999d", "3651d", "1é"] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
        assert!(short_name("acme-2").is_ok());
        for wrong in ["", "-a", "Acme", "a b", "é", &"a".repeat(41)] {
            assert!(short_name(wrong).is_err(), "{wrong}");
        }
    }
}
