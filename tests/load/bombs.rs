//! What those who ask feel while hostile files are parsed: see `tests/load/README.md`.

use std::time::{Duration, Instant};

use sync_server::jobs::index_child::{self, IndexRequest};
use sync_store::{PoolOptions, Store};

use super::asking::{ASKED, Asking, load_average};
use crate::answers::{World, generated};
use crate::fetch::bombs::bombs;
use crate::ingest::repository::Repository;

/// How long each figure is taken.
const FOR: Duration = Duration::from_secs(20);

/// How many indexes run at a time, as many as a worker has slots.
const SLOTS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn answers_take_no_longer_while_bombs_are_parsed() {
    let mut world = World::empty().await;
    world.adopt(&generated::feeds()).await;
    let repository = world.register(ASKED, 1).await;
    world.index(repository, "main", &generated::repository()).await;
    let store = Store::connect(&world.database.app_url, PoolOptions::default()).await.unwrap();
    let remote = Repository::with(&[]);
    for (name, text) in bombs() {
        remote.write(name, text.as_bytes());
    }
    let commit = remote.commit();
    for turn in 0..3 {
        let asking = Asking::begin(&world, &store);
        tokio::time::sleep(FOR).await;
        println!("{turn}: alone: {}; load {}", asking.end().await, load_average());

        let asking = Asking::begin(&world, &store);
        let began = Instant::now();
        let exploding: Vec<_> = (0..SLOTS)
            .map(|_| {
                let request = IndexRequest {
                    executable: super::executable(),
                    path: remote.path().to_owned(),
                    rev: Some(commit.clone()),
                    ref_name: None,
                    cache: None,
                    gate: "auto",
                    known: None,
                    spool: std::env::temp_dir(),
                };
                tokio::spawn(async move {
                    let mut indexes = 0;
                    while began.elapsed() < FOR {
                        index_child::run(&request).await.unwrap();
                        indexes += 1;
                    }
                    indexes
                })
            })
            .collect();
        let mut indexes = 0;
        for one in exploding {
            indexes += one.await.unwrap();
        }
        println!("{turn}: beside {indexes} indexes of bombs: {}; load {}", asking.end().await, load_average());
    }
    store.close().await;
    world.end().await;
}
