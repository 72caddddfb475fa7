//! What authentication, row security and the audit row cost on one tool: see `tests/load/README.md`.

mod bare;
mod capture;
mod clients;
mod machine;
mod service;

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::answers::{World, generated};

use clients::Figures;
use machine::Cpu;
use service::Process;

/// How long each figure is taken, and how often both sides take turns.
const FOR: Duration = Duration::from_secs(3);
const TURNS: usize = 3;

/// The question, for both sides: a call whose answer has evidence and known changes, and is as long as an answer can be.
fn question() -> Value {
    json!({ "file": generated::path(7), "line": 1 })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn what_authentication_row_security_and_audit_cost() {
    let mut world = World::empty().await;
    world.adopt(&generated::feeds()).await;
    let repository = world.register("acme/large", 1).await;
    world.index(repository, "main", &generated::repository()).await;
    let mut superuser = world.database.superuser().await;
    for setting in ["fsync", "synchronous_commit"] {
        let is: String =
            sqlx::query_scalar("SELECT current_setting($1)").bind(setting).fetch_one(&mut superuser).await.unwrap();
        assert_eq!(is, "on", "{setting} is off: run with TEST_DATABASE_DURABLE=1, or give a server that waits");
    }
    superuser.execute("ANALYZE").await.unwrap();
    let commit = commit_of_one_row(&mut superuser).await;
    let fsync = machine::pg_test_fsync();

    let credential = service::token(&world).await;
    let statements = capture::statements_of_an_answer(&world, &question()).await;
    // The database is copied, which nobody may be connected to.
    world.store().close().await;
    superuser.close().await.unwrap();
    let copy = Copy::of(&world).await;

    let product = Process::product(&world.database.app_url);
    let request = clients::request(&product.address, Some(&credential), &question());
    let answer = clients::once(&product.address, &request).await;
    assert_eq!(answer["result"]["structuredContent"]["line"], 1, "{answer}");
    let round_trips = statements.len();
    let bare = Process::bare(&bare::Served { database: copy.url.clone(), statements, answer: answer.clone() });
    let bare_request = clients::request(&bare.address, None, &question());
    assert_eq!(clients::once(&bare.address, &bare_request).await, answer);

    let bytes = answer.to_string().len();
    println!("{round_trips} statements, an answer of {bytes} bytes");
    println!("fdatasync {fsync}; COMMIT of one row p50 {:.3} ms", commit.as_secs_f64() * 1e3);
    let mut postgres = world.database.superuser().await;
    for callers in [1, 16, 64] {
        let (mut of_bare, mut of_product, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            of_bare.push(clients::ask(&bare.address, &bare_request, callers, FOR).await);
            let before = Cpu::now(product.id(), &mut postgres).await;
            of_product.push(clients::ask(&product.address, &request, callers, FOR).await);
            cpu.push(Cpu::now(product.id(), &mut postgres).await.since(&before));
        }
        let (of_bare, of_product) = (Figures::median(of_bare), Figures::median(of_product));
        println!("{callers:2} callers: bare    {of_bare}");
        println!("            product {of_product}; p50 is {:.2} of bare's", of_product.p50 / of_bare.p50);
        if callers == 1 {
            let more = of_product.p50 - of_bare.p50;
            println!("            {:.3} ms more, {:.2} of a commit", more * 1e3, more / commit.as_secs_f64());
        }
        cpu.sort_by(|a, b| a.syncd.total_cmp(&b.syncd));
        println!("            cores used: {}", cpu[TURNS / 2]);
    }
    drop((product, bare));
    postgres.close().await.unwrap();
    copy.drop().await;
    world.end().await;
}

/// Half of all commits of one small row are faster than this.
async fn commit_of_one_row(superuser: &mut PgConnection) -> Duration {
    superuser.execute("CREATE TABLE public.load_commits (n int)").await.unwrap();
    let mut times = Vec::new();
    for n in 0..300 {
        let began = std::time::Instant::now();
        sqlx::query("INSERT INTO public.load_commits VALUES ($1)").bind(n).execute(&mut *superuser).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    superuser.execute("DROP TABLE public.load_commits").await.unwrap();
    times[times.len() / 2]
}

/// A copy of the database for the bare side, which passes no row security. The policies are what names the organization
/// in the product's statements, and every index begins with it: the copy has each index without it too, so that the
/// same statements find their rows as fast.
struct Copy {
    url: String,
    name: String,
    maker: String,
}

impl Copy {
    async fn of(world: &World) -> Self {
        let maker: url::Url = world.database.superuser_url.parse().unwrap();
        let original = maker.path().trim_start_matches('/').to_owned();
        let name = format!("{original}_bare");
        let mut url = maker.clone();
        url.set_path(&name);
        let mut maker = maker;
        maker.set_path("postgres");
        let mut connection = PgConnection::connect(maker.as_str()).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE {original} STRATEGY FILE_COPY");
        connection.execute(AssertSqlSafe(create)).await.unwrap();
        connection.close().await.unwrap();

        let mut inside = PgConnection::connect(url.as_str()).await.unwrap();
        let indexes: Vec<(String, String)> = sqlx::query_as(
            "SELECT indexname::text, indexdef FROM pg_indexes
             WHERE schemaname = 'sync' AND indexdef LIKE '%(organization_id, %' AND tablename NOT LIKE 'audit%'",
        )
        .fetch_all(&mut inside)
        .await
        .unwrap();
        for (index, definition) in indexes {
            let definition = definition
                .replacen("CREATE UNIQUE INDEX", "CREATE INDEX", 1)
                .replacen(&index, &format!("bare_{index}"), 1)
                .replacen("(organization_id, ", "(", 1);
            inside.execute(AssertSqlSafe(definition)).await.unwrap();
        }
        inside.execute("ANALYZE").await.unwrap();
        inside.close().await.unwrap();
        Self { url: url.into(), name, maker: maker.into() }
    }

    async fn drop(self) {
        let mut connection = PgConnection::connect(&self.maker).await.unwrap();
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        connection.execute(AssertSqlSafe(drop)).await.unwrap();
        connection.close().await.unwrap();
    }
}
