//! `syncd trigger push`: a signed sample, sent to a running server as a forge would, so that somebody sees it arrive.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use sync_core::clock::Clock as _;
use sync_core::ids::RequestId;
use sync_store::Forge;
use url::Url;

use super::{Failure, say};
use crate::clock::SystemClock;
use crate::jobs::place::HEAD;
use crate::webhooks::sample::{self, Sample};

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often the job is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// `syncd trigger …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum TriggerCommand {
    /// Send a push of a source's default branch, signed as its forge signs, and watch the job that it queues.
    ///
    /// SYNC_TOKEN holds a token with the scopes sources:write and graph:read. Where the source has no webhook yet, one is
    /// made, and its address and secret are shown, to be entered at the forge. The server is the one at --url, else the one
    /// that `syncd dev` runs (--dev), else the one that is configured (SYNC_LISTEN, on this machine).
    ///
    /// Example: SYNC_TOKEN=sync_… syncd --dev trigger push --source acme/billing
    Push(PushArgs),
}

/// What is pushed where.
#[derive(Debug, clap::Args)]
pub(super) struct PushArgs {
    /// Name of the source; may be left out where there is one only.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Origin of the running server. Absent: as is configured for this machine.
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// File that holds the webhook's secret, where there is a webhook already.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Make another secret for the webhook that is there; the one before is taken for 24 more hours.
    #[arg(long, conflicts_with = "secret_file")]
    rotate: bool,
    /// How many seconds the job is watched; 0: not at all.
    #[arg(long, value_name = "S", default_value_t = 60)]
    wait: u64,
}

/// As far as a source is looked at.
#[derive(Debug, Deserialize)]
struct Source {
    id: String,
    name: String,
    provider: Option<String>,
    clone_url: Option<String>,
    default_branch: String,
    gate: String,
    egress_consent: Option<Value>,
    webhook: Option<Webhook>,
}

#[derive(Debug, Deserialize)]
struct Webhook {
    provider: String,
    url: String,
    #[serde(default)]
    secret: Option<String>,
    #[serde(default)]
    next_step: Option<String>,
}

/// Runs it; `token` is that of SYNC_TOKEN, `listen` where the server of this machine is.
pub(super) async fn run(command: &TriggerCommand, token: Option<String>, listen: SocketAddr) -> Result<(), Failure> {
    let TriggerCommand::Push(args) = command;
    let token = token.filter(|token| !token.is_empty()).ok_or_else(|| {
        Failure::failed(
            "SYNC_TOKEN is not set",
            "set it to a token with sources:write and graph:read; `syncd dev` prints one",
        )
    })?;
    let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
    let client = client.map_err(|error| Failure::failed(format!("no request can be made: {error}"), "report it"))?;
    let url = args.url.clone().map_or_else(|| origin_of(listen), Ok)?;
    let server = Server { client, token, url };
    let source = server.source(args.source.as_deref()).await?;
    say(&format!("source   {} ({}), branch {}", source.name, source.id, source.default_branch))?;
    // Before anything is made for it: such a push would be noted, and nothing queued.
    refuse_unfetched(&source)?;
    let (webhook, secret) = server.webhook(&source, args).await?;
    let forge = Forge::named(&webhook.provider).ok_or_else(|| {
        Failure::failed(
            format!("the server knows a forge `{}`", webhook.provider),
            "use the release that the server is of",
        )
    })?;
    let delivery = RequestId::at(SystemClock.now()).to_string();
    let branch = if source.default_branch == HEAD { "main" } else { &source.default_branch };
    let sample = sample::push(forge, &path_of(&source), branch, &delivery, &secret);
    say(&format!("sent     a push to {branch} as {} signs it, delivery {delivery}", webhook.provider))?;
    let told = server.deliver(&webhook, sample).await?;
    let job = told["job_id"].as_str();
    let reason = told["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    say(&format!("answer   {}{reason}", told["outcome"].as_str().unwrap_or("?")))?;
    match job {
        Some(job) if args.wait > 0 => server.watch(job, Duration::from_secs(args.wait)).await,
        Some(job) => say(&format!("job      {job}")),
        None => Err(Failure::refused(
            "the delivery arrived, and queued nothing",
            "see what the answer says; GET /v1/sources/{source} shows the webhook as it is",
        )),
    }
}

/// A running server, asked by somebody.
struct Server {
    client: reqwest::Client,
    token: String,
    url: Url,
}

impl Server {
    async fn source(&self, name: Option<&str>) -> Result<Source, Failure> {
        let query =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(name.map(|name| ("name", name))).finish();
        let listed = self.ask(Method::GET, &format!("/v1/sources?{query}"), None).await?;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let id = match (items.as_slice(), name) {
            ([one], _) => one["id"].as_str().unwrap_or_default().to_owned(),
            ([], Some(name)) => {
                return Err(Failure::failed(
                    format!("there is no source `{name}` that this token sees"),
                    "syncd source list, or POST /v1/sources",
                ));
            }
            ([], None) => return Err(Failure::failed("there is no source", "POST /v1/sources, or syncd source add")),
            _ => {
                let names: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
                return Err(Failure::failed(
                    format!("there are several sources: {}", names.join(", ")),
                    "name one with --source",
                ));
            }
        };
        let source = self.ask(Method::GET, &format!("/v1/sources/{id}"), None).await?;
        serde_json::from_value(source).map_err(|_| strange())
    }

    /// The webhook with its secret: as given, or made for this.
    async fn webhook(&self, source: &Source, args: &PushArgs) -> Result<(Webhook, String), Failure> {
        match (&source.webhook, &args.secret_file) {
            (Some(known), Some(file)) => {
                let known =
                    Webhook { provider: known.provider.clone(), url: known.url.clone(), secret: None, next_step: None };
                return Ok((known, secret(file)?));
            }
            (Some(_), None) if !args.rotate => {
                return Err(Failure::failed(
                    format!(
                        "`{}` has a webhook, whose secret was shown when it was made and is kept nowhere readable",
                        source.name
                    ),
                    "give it with --secret-file, or make another one with --rotate",
                ));
            }
            _ => {}
        }
        let provider = source.provider.as_deref().unwrap_or("github");
        let path = format!("/v1/sources/{}/webhook", source.id);
        let made = self.ask(Method::POST, &path, Some(json!({ "provider": provider }))).await?;
        let made: Webhook = serde_json::from_value(made).map_err(|_| strange())?;
        let secret = made.secret.clone().ok_or_else(strange)?;
        say(&format!("webhook  {}", made.url))?;
        say(&format!("         secret {secret}, shown this once"))?;
        say(&format!("         {}", made.next_step.as_deref().unwrap_or_default()))?;
        Ok((made, secret))
    }

    /// Posts the sample to the server that was named: its public address may not lead anywhere from here.
    async fn deliver(&self, webhook: &Webhook, sample: Sample) -> Result<Value, Failure> {
        let known = Url::parse(&webhook.url).map_err(|_| strange())?;
        let mut address = self.url.clone();
        address.set_path(known.path());
        let mut request = self.client.post(address).body(sample.body);
        for (name, value) in sample.headers {
            request = request.header(name, value);
        }
        told(request.send().await.map_err(|error| self.unreachable(&error))?).await
    }

    /// Says each time that the job is in another state, until it has ended.
    async fn watch(&self, job: &str, wait: Duration) -> Result<(), Failure> {
        let (began, mut last) = (tokio::time::Instant::now(), String::new());
        loop {
            let now = self.ask(Method::GET, &format!("/v1/jobs/{job}"), None).await?;
            let state = now["state"].as_str().unwrap_or_default().to_owned();
            let reason = now["reason"].as_str().unwrap_or_default();
            if state != last {
                let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                say(&format!("job      {job} is {state}{because}"))?;
                last.clone_from(&state);
            }
            match state.as_str() {
                "done" => {
                    return say(&format!(
                        "         in {} ms by phase: {}",
                        whole(&now["timings_ms"]),
                        now["timings_ms"]
                    ));
                }
                "dead" | "cancelled" => {
                    let next = now["next_step"].as_str().unwrap_or("GET /v1/jobs/{job} says what is known");
                    return Err(Failure::failed(format!("the job is {state}: {reason}"), next));
                }
                _ if began.elapsed() >= wait => {
                    return say(&format!(
                        "         still {state} after {} s; a worker takes it: `syncd worker`; look again at /v1/jobs/{job}",
                        wait.as_secs()
                    ));
                }
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let address =
            self.url.join(path).map_err(|_| Failure::refused("the address is none", "give --url an origin"))?;
        let mut request = self.client.request(method, address).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        told(request.send().await.map_err(|error| self.unreachable(&error))?).await
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        Failure::failed(
            format!("{} does not answer: {error}", self.url),
            "start the server, or name another one with --url",
        )
    }
}

/// What was answered, or the problem that it is.
async fn told(response: Response) -> Result<Value, Failure> {
    let status = response.status();
    let told: Value = response.json().await.map_err(|_| strange())?;
    if status.is_success() {
        return Ok(told);
    }
    let word = |name: &str| told[name].as_str().unwrap_or_default().trim_end_matches('.').to_owned();
    Err(Failure::failed(format!("{status} {}: {}", word("code"), word("detail")), word("next_step")))
}

fn strange() -> Failure {
    Failure::failed("the server's answer is not one of Sync's", "check --url, and that both are of one release")
}

fn secret(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    let text =
        text.map_err(|error| Failure::failed(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    Ok(text.trim_end().to_owned())
}

/// Where the server of this machine is reached from here.
fn origin_of(listen: SocketAddr) -> Result<Url, Failure> {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let origin = Url::parse(&format!("http://{}", SocketAddr::new(ip, listen.port())));
    origin.map_err(|_| Failure::refused(format!("no server listens on {listen}"), "name it with --url"))
}

/// A push of a source that is not fetched leads to nothing.
fn refuse_unfetched(source: &Source) -> Result<(), Failure> {
    let is_file = source.clone_url.as_deref().is_some_and(|address| address.starts_with("file:"));
    if source.gate == "off" {
        return Err(Failure::refused(
            format!("the gate of `{}` is off: a push of it is noted, and nothing is fetched", source.name),
            "send its snapshots (sync-ingest upload), or PATCH /v1/sources/{source} with {\"gate\": \"auto\"}",
        ));
    }
    if source.egress_consent.is_none() && source.clone_url.is_some() && !is_file {
        return Err(Failure::refused(
            format!("nobody allowed to fetch the code of `{}`", source.name),
            "PUT /v1/sources/{source}/consent with {\"egress\": true}",
        ));
    }
    Ok(())
}

/// The path of the repository as its forge has it.
fn path_of(source: &Source) -> String {
    let url = source.clone_url.as_deref().and_then(|url| Url::parse(url).ok());
    let path = url.map_or_else(|| source.name.clone(), |url| url.path().trim_matches('/').to_owned());
    path.strip_suffix(".git").unwrap_or(&path).to_owned()
}

fn whole(timings: &Value) -> u64 {
    timings.as_object().map_or(0, |phases| phases.values().filter_map(Value::as_u64).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_this_machine_is_reached_where_it_listens() {
        for (listen, origin) in [
            ("127.0.0.1:8787", "http://127.0.0.1:8787/"),
            ("0.0.0.0:9000", "http://127.0.0.1:9000/"),
            ("[::]:9000", "http://[::1]:9000/"),
            ("10.0.0.7:80", "http://10.0.0.7/"),
        ] {
            assert_eq!(origin_of(listen.parse().unwrap()).unwrap().as_str(), origin);
        }
    }

    #[test]
    fn what_is_not_fetched_is_not_pushed() {
        let said = |gate: &str, address: &str, consent: Value| {
            let source = json!({
                "id": "src_1", "name": "acme/billing", "provider": null, "clone_url": address, "default_branch": "main",
                "gate": gate, "egress_consent": consent, "webhook": null,
            });
            refuse_unfetched(&serde_json::from_value(source).unwrap()).map_err(|failure| failure.to_string())
        };
        let (https, given) = ("https://git.example/a", json!({ "by": "ada" }));
        assert_eq!(said("auto", https, given.clone()), Ok(()));
        assert_eq!(said("on", "file:///srv/a", Value::Null), Ok(()));
        assert!(said("off", https, given).unwrap_err().contains("sync-ingest upload"));
        assert!(said("auto", https, Value::Null).unwrap_err().contains("consent"));
    }
}
