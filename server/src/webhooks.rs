//! Words of forges: something was pushed, renamed, deleted. `POST /webhooks/{provider}/{endpoint}`.
//!
//! A delivery is read as it came ([`receive`]), checked against the endpoint's secrets before anything of it is parsed
//! ([`signature`]), understood as far as it matters ([`event`]), and acted on in one transaction ([`act`]) that queues the
//! job and remembers the delivery, or does neither. Nothing that a delivery says is believed of the code: the job fetches
//! the head that the remote has by then, so that an older push never replaces a newer index.

pub mod act;
pub mod event;
pub mod large;
pub mod receive;
pub mod sample;
pub mod setup;
pub mod signature;
pub mod tally;

use std::fmt;
use std::str::FromStr;

use sync_core::ids::{OrganizationId, WebhookId};
use sync_store::Forge;
use uuid::Uuid;

/// The last part of an endpoint's address: whose it is, so that it is looked up inside that organization's row security,
/// and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndpointAddress {
    /// Whose.
    pub organization: OrganizationId,
    /// Which of theirs.
    pub id: WebhookId,
}

impl EndpointAddress {
    /// The whole address, as a forge takes it.
    pub fn url(&self, public_url: &str, forge: Forge) -> String {
        format!("{public_url}/webhooks/{}/{self}", forge.as_str())
    }
}

impl fmt::Display for EndpointAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.organization.uuid().simple(), self.id.uuid().simple())
    }
}

/// A text that is no endpoint's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the last part of a webhook's address is 64 hexadecimal digits")]
pub struct BadAddress;

impl FromStr for EndpointAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let digits = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let (organization, id) = text.split_at_checked(32).filter(|_| digits).ok_or(BadAddress)?;
        let read = |part: &str| Uuid::try_parse(part).map_err(|_| BadAddress);
        Ok(Self { organization: OrganizationId::from_uuid(read(organization)?), id: WebhookId::from_uuid(read(id)?) })
    }
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn an_address_reads_back_and_another_text_is_none() {
        let now = OffsetDateTime::UNIX_EPOCH;
        let address = EndpointAddress { organization: OrganizationId::at(now), id: WebhookId::at(now) };
        assert_eq!(address.to_string().parse(), Ok(address));
        let url = address.url("https://sync.example", Forge::Forgejo);
        assert_eq!(url, format!("https://sync.example/webhooks/forgejo/{address}"));
        let text = address.to_string();
        for wrong in ["", &text[1..], &text.to_uppercase(), &format!("{text}0"), &"é".repeat(32), &"g".repeat(64)] {
            assert_eq!(wrong.parse::<EndpointAddress>(), Err(BadAddress), "{wrong}");
        }
    }
}
