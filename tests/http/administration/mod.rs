//! Members, grants, tokens, issuers and use through `/v1`: what changes, who may, and that all of it is written down.

mod administrators;
mod grants;
mod issuers;
mod members;
mod organization;
mod tokens;
mod usage;

use serde_json::{Value, json};
use sync_core::principal::{Principal, Scope};
use sync_tests::service::{Reply, TestService};

/// One credential at `/v1`.
struct Api<'a> {
    service: &'a TestService,
    token: String,
}

impl<'a> Api<'a> {
    async fn of(service: &'a TestService, principal: &Principal) -> Self {
        Self { service, token: service.token(principal, &[Scope::Admin], None).await.1 }
    }

    fn with(&self, token: &Value) -> Self {
        Self { service: self.service, token: token.as_str().unwrap().to_owned() }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        let request = self
            .service
            .client
            .request(method.parse().unwrap(), format!("{}/v1{path}", self.service.url))
            .bearer_auth(&self.token);
        let request = if body.is_null() { request } else { request.json(&body) };
        Reply::of(request).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, Value::Null).await
    }

    /// What comes back where all goes well.
    async fn good(&self, method: &str, path: &str, body: Value, status: u16) -> Value {
        let reply = self.send(method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        reply.json()
    }

    /// The code of what comes back where it does not.
    async fn code(&self, method: &str, path: &str, body: Value, status: u16) -> String {
        let reply = self.send(method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        reply.json()["code"].as_str().unwrap().to_owned()
    }

    /// Makes a member with a token of these scopes.
    async fn member(&self, name: &str, role: &str, scopes: &[&str]) -> (String, Value) {
        let made = self.good("POST", "/members", json!({ "name": name, "role": role }), 201).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let wanted = json!({ "principal": id, "name": "t", "scopes": scopes });
        let token = self.good("POST", "/tokens", wanted, 201).await;
        (id, token)
    }
}
