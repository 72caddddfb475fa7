//! Both sides as processes of their own, and the product's credential.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use sync_core::clock::Clock as _;
use sync_core::ids::{PrincipalId, TokenId};
use sync_core::principal::{PrincipalKind, Role, Scope};
use sync_server::clock::SystemClock;
use sync_server::identity::{random_secret, token as tokens};
use sync_store::{NewMember, NewToken};
use tempfile::NamedTempFile;

use super::bare::{SERVED, Served};
use crate::answers::World;

/// A served process, which ends with this.
pub(super) struct Process {
    pub(super) address: String,
    child: Child,
    /// What it reads.
    _served: Option<NamedTempFile>,
}

impl Process {
    /// `syncd serve`, as it is but for the limits of a principal and an organization, which a measurement is far above.
    pub(super) fn product(database_url: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_syncd-under-test"));
        command
            .arg("serve")
            .env("SYNC_DATABASE_URL", database_url)
            .env("SYNC_SECRET_KEY", "a key of the tests, long enough for one")
            .env("SYNC_LISTEN", "127.0.0.1:0")
            .env("SYNC_PRINCIPAL_REQUESTS_PER_MINUTE", "1000000000")
            .env("SYNC_ORGANIZATION_REQUESTS_PER_MINUTE", "1000000000")
            .env("SYNC_LOG_FORMAT", "json")
            .env("SYNC_LOG", "info,rmcp=error");
        Self::start(command, None)
    }

    /// The bare side: this very program, which only serves.
    pub(super) fn bare(served: &Served) -> Self {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&serde_json::to_vec(served).unwrap()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["load::cost::bare::serves", "--exact", "--ignored", "--nocapture"]).env(SERVED, file.path());
        Self::start(command, Some(file))
    }

    fn start(mut command: Command, served: Option<NamedTempFile>) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if told["message"] == "serving" {
                break told["address"].as_str().unwrap().to_owned();
            }
        };
        // Read on, so that it never waits for a reader of its log.
        std::thread::spawn(move || lines.for_each(drop));
        Self { address, child, _served: served }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which its callers then said.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A token of a member who reads all.
pub(super) async fn token(world: &World) -> String {
    let now = SystemClock.now();
    let member = NewMember {
        id: PrincipalId::at(now),
        name: "load",
        kind: PrincipalKind::Service,
        role: Role::Member,
        identity: None,
        reads_all: true,
    };
    let made =
        tokens::make(world.organization, TokenId::at(now), random_secret().unwrap_or_else(|_| panic!("no randomness")));
    let mut tx = world.store().begin(&world.asker().principal).await.unwrap();
    let member = tx.create_member(&member, now).await.unwrap();
    let scopes = BTreeSet::from([Scope::GraphRead]);
    let new = NewToken {
        id: tokens::parse(&made.text).unwrap_or_else(|_| panic!("no token")).id,
        principal: member.id,
        name: "load",
        secret_hash: made.secret_hash,
        scopes: &scopes,
        expires_at: None,
    };
    tx.create_token(&new, now).await.unwrap();
    tx.commit().await.unwrap();
    made.text
}
