//! The command line that administers without HTTP.

use std::process::{Command, Output};

use serde_json::{Value, json};
use sync_store::NewRepository;
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, with_database};

use super::EXECUTABLE;

struct Line<'a>(&'a TestDatabase);

impl Line<'_> {
    fn run(&self, arguments: &str) -> Output {
        Command::new(EXECUTABLE)
            .args(arguments.split(' '))
            .env_clear()
            .env("SYNC_DATABASE_URL", &self.0.app_url)
            .output()
            .unwrap()
    }

    /// The lines that it writes where all goes well, each in its fields.
    fn good(&self, arguments: &str) -> Vec<Vec<String>> {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// The lines that it writes as JSON.
    fn json(&self, arguments: &str) -> Vec<Value> {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How it ends where it does not, and what it says.
    fn bad(&self, arguments: &str) -> (i32, String) {
        let output = self.run(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error: ") && text.contains("; next: "), "{arguments}: {text}");
        (output.status.code().unwrap(), text)
    }
}

#[test]
fn an_organization_is_administered_without_http() {
    with_database(async |database: &TestDatabase| {
        let line = Line(database);
        let made = line.good("organization create acme");
        assert_eq!(made[0][1..], ["acme", "active"]);
        assert_eq!(line.good("organization list"), made);
        assert_eq!(line.bad("organization create acme").0, 3);
        assert_eq!(line.good("organization change acme --display-name Acme")[0], ["acme", "Acme"]);
        let owner = &line.good("token create --organization acme --principal ada --scope admin")[0][0];
        let service = TestService::start(database).await;
        // The command line goes by the system's clock; what it did is past for the service.
        service.clock.advance(time::Duration::days(3650));
        assert_eq!(service.rpc(owner, "ping", json!({})).await.status, 200);
        let members = line.good("member list --organization acme");
        assert_eq!(members[0][1..], ["ada", "user", "owner", "all", "-", "-"]);
        let second = &line.good("token create --organization acme --principal bob --scope graph:read")[0][0];
        assert_eq!(service.rpc(second, "ping", json!({})).await.status, 200);
        assert_eq!(line.good("member list --organization acme --role member")[0][1], "bob");

        // Scopes that a role does not allow, the last owner, a name that is taken: refused, and said why.
        assert_eq!(line.bad("token create --organization acme --principal bob --scope audit:read").0, 3);
        let (code, said) = line.bad("member change ada --organization acme --role member");
        assert!(code == 3 && said.contains("only owner"), "{said}");
        assert_eq!(line.bad("member create bob --organization acme --role auditor").0, 3);
        assert_eq!(line.bad("member change bob --organization acme").0, 3);
        assert_eq!(line.bad("member list --organization nowhere").0, 1);
        line.good("member create ci --organization acme --kind service --role ingest --granted-only");
        assert_eq!(line.good("member list --organization acme --role ingest")[0][2], "service");
        line.good("member change bob --organization acme --disable");
        // What another process changed is seen within ten seconds.
        service.clock.advance(time::Duration::seconds(10));
        assert_eq!(service.rpc(second, "ping", json!({})).await.status, 401);
        line.good("member change bob --organization acme --enable --reads granted");

        let tokens = line.good("token list --organization acme");
        assert_eq!((tokens.len(), tokens[1][1].as_str(), tokens[1][3].as_str()), (2, "bob", "graph:read"));
        let rotated = &line.good(&format!("token rotate {} --organization acme --overlap 1h", tokens[1][0]))[0][0];
        assert_eq!(service.rpc(rotated, "ping", json!({})).await.status, 200);
        line.good(&format!("token revoke {} --organization acme", tokens[1][0]));
        service.clock.advance(time::Duration::seconds(10));
        assert_eq!(service.rpc(second, "ping", json!({})).await.status, 401);
        assert_eq!(line.bad(&format!("token rotate {} --organization acme", tokens[1][0])).0, 3);

        assert_eq!(line.bad("issuer create http://id.example.com --organization acme").0, 3);
        let issuer = line.good("issuer create https://id.example.com --organization acme --advertise");
        assert_eq!(issuer[0][1..], ["https://id.example.com", "-", "-", "member"]);
        assert_eq!(line.good("issuer list --organization acme"), issuer);
        let mut tx = database.store.system("test").await.unwrap();
        assert_eq!(tx.advertised_issuers().await.unwrap(), ["https://id.example.com"]);
        tx.commit().await.unwrap();
        line.good(&format!("issuer delete {} --organization acme", issuer[0][0]));
        assert!(line.good("issuer list --organization acme").is_empty());

        let plan = line.good("organization plan acme --plan team --sources 5");
        assert_eq!((plan[0].join(" "), plan[1].join(" ")), ("plan team".to_owned(), "sources 5 0".to_owned()));
        // Every list as JSON, with the names of its fields; siblings take the same words.
        let members = line.json("member list -o acme --json");
        let first = json!({ "id": members[0]["id"], "name": "ada", "kind": "user", "role": "owner", "reads": "all",
                            "disabled_at": null, "issuer": null });
        assert_eq!(members[0], first);
        let tokens = line.json("token list -o acme --json");
        assert_eq!((&tokens[0]["scopes"], &tokens[0]["expires_at"]), (&json!(["admin"]), &json!(null)));
        let rows = line.json("organization plan acme --json");
        assert_eq!(rows[1], json!({ "what": "sources", "limit": 5, "used": 0 }));
        assert_eq!(line.json("organization list --json")[0]["state"], "active");
        let token = &line.json("token create -o acme --member ada --name ci --scope graph:read --json")[0];
        assert!(token["id"].as_str().unwrap().starts_with("tok_"));
        assert_eq!(service.rpc(token["secret"].as_str().unwrap(), "ping", json!({})).await.status, 200);

        assert!(line.good("grant list --organization acme").is_empty());
        assert_eq!(line.bad("grant create --organization acme --member bob --repository acme/none").0, 1);
        let mut system = database.store.system("test").await.unwrap();
        let organization = system.organization_by_slug("acme").await.unwrap().unwrap().id;
        system.commit().await.unwrap();
        let operator = sync_core::principal::Principal::service(organization, "test");
        let id = sync_core::ids::RepositoryId::at(sync_tests::NOW);
        let new = NewRepository { id, name: "acme/billing", provider: None, clone_url: None, default_branch: "main" };
        let mut tx = database.store.begin_write(&operator).await.unwrap();
        tx.register_repository(&new, sync_tests::NOW).await.unwrap();
        tx.commit().await.unwrap();
        let granted = line.good("grant create -o acme --member bob --repository acme/billing");
        assert_eq!(granted[0][..2], ["bob", "acme/billing"]);
        assert_eq!(line.good("grant add -o acme --principal bob --repository acme/billing"), granted);
        assert!(line.good("grant delete -o acme --member bob --repository acme/billing").is_empty());
        assert_eq!(line.bad("grant remove -o acme --member bob --repository acme/billing").0, 1);

        // Suspended, nobody of it is let in, which is said; all of it is kept, and is served again afterwards.
        assert_eq!(line.good("organization suspend acme")[0][1..], ["acme", "suspended"]);
        assert_eq!(line.good("organization list")[0][2], "suspended");
        service.clock.advance(time::Duration::seconds(10));
        let told = service.rpc(rotated, "ping", json!({})).await;
        assert_eq!((told.status, told.json()["code"].as_str()), (401, Some("organization_suspended")), "{told:?}");
        assert_eq!(line.good("member list --organization acme").len(), 3);
        assert_eq!(line.good("organization resume acme")[0][1..], ["acme", "active"]);
        service.clock.advance(time::Duration::seconds(10));
        assert_eq!(service.rpc(rotated, "ping", json!({})).await.status, 200);

        let rows = audit_log(database, organization).await;
        let written: Vec<&str> =
            rows.iter().filter(|row| row.protocol == "cli").map(|row| row.action.as_str()).collect();
        assert_eq!(
            written,
            [
                "cli.create_organization",
                "cli.change_organization",
                "cli.create_token",
                "cli.create_token",
                "cli.create_member",
                "cli.change_member",
                "cli.change_member",
                "cli.rotate_token",
                "cli.revoke_token",
                "cli.create_issuer",
                "cli.delete_issuer",
                "cli.set_plan",
                "cli.create_token",
                "cli.put_grant",
                "cli.put_grant",
                "cli.delete_grant",
                "cli.suspend_organization",
                "cli.resume_organization",
            ]
        );
        service.stop().await;
    });
}
