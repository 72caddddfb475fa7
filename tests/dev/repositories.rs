//! Repositories given by path and by URL, and what happens when they change.

use nix::sys::signal::Signal;
use serde_json::json;

use super::{Dev, data_folder};
use crate::ingest::repository::Repository;

const CLIENT: &str = r#"import Stripe from "stripe";
export const stripe = new Stripe("", { apiVersion: "2025-02-24.acacia" });
"#;
const CALL: &str = r#"import { stripe } from "./client";
export const promote = (coupon: string) => stripe.promotionCodes.create({ coupon });
"#;

fn repository() -> Repository {
    Repository::with(&[
        ("package.json", r#"{"name": "shop", "dependencies": {"stripe": "17.7.0"}}"#),
        ("src/client.ts", CLIENT),
        ("src/promote.ts", CALL),
    ])
}

#[test]
fn an_unchanged_commit_is_confirmed_and_a_changed_one_indexed() {
    let (folder, repository) = (data_folder(), repository());
    let first = repository.commit();
    let (_bare, path) = repository.bare_clone();
    let repo = ["--repo", path.to_str().unwrap()];
    let dev = Dev::start(folder.path(), &repo);
    let answer = dev.ask("sync_whats_at_risk", &json!({}));
    assert_eq!(answer["commit"], json!(first));
    let found = dev.at_risk();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["file"], &found[0]["line"]), (&json!("src/promote.ts"), &json!(2)));
    assert_eq!(found[0]["applies"], "on_upgrade");
    dev.end(Signal::SIGTERM);

    let dev = Dev::start(folder.path(), &repo);
    let again = dev.ask("sync_whats_at_risk", &json!({}));
    assert_eq!(again["commit"], json!(first));
    assert!(again["indexed_at"].as_str() > answer["indexed_at"].as_str());
    assert_eq!(dev.at_risk(), found);
    let (_, said) = dev.end(Signal::SIGTERM);
    assert!(said.contains("nothing changed since the last index"), "{said}");

    // Only the client's module changes; the call's finding follows its pin.
    repository.write("src/client.ts", CLIENT.replace("2025-02-24.acacia", "2025-09-30.clover").as_bytes());
    let second = repository.commit();
    let bare = path.to_str().unwrap();
    repository.git(&["push", "-q", bare, "HEAD:trunk"]);
    let dev = Dev::start(folder.path(), &repo);
    assert_eq!(dev.ask("sync_whats_at_risk", &json!({}))["commit"], json!(second));
    assert_eq!(dev.at_risk()[0]["applies"], "now");
    assert_eq!(dev.at_risk()[0]["finding_id"], found[0]["finding_id"]);
    dev.end(Signal::SIGTERM);

    // The old commit by its id: what was asked for is what answers.
    let dev = Dev::start(folder.path(), &["--repo", bare, "--rev", &first]);
    assert_eq!(dev.ask("sync_whats_at_risk", &json!({}))["commit"], json!(first));
    dev.end(Signal::SIGTERM);
}

#[test]
fn a_url_is_fetched_and_its_last_fetch_answers_when_it_is_gone() {
    let (folder, repository) = (data_folder(), repository());
    let commit = repository.commit();
    let (bare, path) = repository.bare_clone();
    let url = format!("file://{}", path.display());
    let dev = Dev::start(folder.path(), &["--repo", &url]);
    assert_eq!(dev.ask("sync_whats_at_risk", &json!({}))["commit"], json!(commit));
    assert_eq!(dev.at_risk().len(), 1);
    let indexed_at = dev.ask("sync_whats_at_risk", &json!({}))["indexed_at"].clone();
    dev.end(Signal::SIGTERM);
    drop(bare);
    let dev = Dev::start(folder.path(), &["--repo", &url]);
    let answer = dev.ask("sync_whats_at_risk", &json!({}));
    // Nobody confirmed that this is still the head.
    assert_eq!((&answer["commit"], &answer["indexed_at"]), (&json!(commit), &indexed_at));
    let (_, said) = dev.end(Signal::SIGTERM);
    assert!(said.contains("using the last fetch"), "{said}");
}
