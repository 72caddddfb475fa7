//! The statements of an answer with what was bound to them, as they went to the database: what the bare side runs is
//! what the product runs, also when the product changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use sync_server::answers::tools;
use sync_store::{PoolOptions, Store};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::answers::World;

/// A statement, and its parameters: type, and bytes of the binary format (none is NULL).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) parameters: Vec<(u32, Option<Vec<u8>>)>,
}

/// Makes one answer, and gives the statements between its `BEGIN` and its audit row.
pub(super) async fn statements_of_an_answer(world: &World, question: &Value) -> Vec<Statement> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let url = listen(&world.database.app_url, said.clone()).await;
    let one = PoolOptions { max_connections: 1, ..PoolOptions::default() };
    let store = Store::connect(&url, one).await.unwrap();
    let tool = tools::find("sync_explain_call_site").unwrap();
    let answered = tool.call(&world.answers_over(&store), &world.asker(), question.as_object().unwrap()).await;
    answered.unwrap_or_else(|error| panic!("the question is not answered: {error}"));
    store.close().await;
    let said = said.lock().unwrap();
    let statements = read(&said);
    assert!(statements.len() > 5, "{statements:?}");
    statements
}

/// In front of a database; keeps what its client says.
async fn listen(url: &str, said: Arc<Mutex<Vec<u8>>>) -> String {
    let target: PgConnectOptions = url.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut through: url::Url = url.parse().unwrap();
    through.set_query(Some("sslmode=disable"));
    through.set_host(Some("127.0.0.1")).unwrap();
    through.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (from_client, to_client) = client.into_split();
            if let Some(folder) = target.get_socket() {
                let path = folder.join(format!(".s.PGSQL.{}", target.get_port()));
                let (from_server, to_server) = UnixStream::connect(path).await.unwrap().into_split();
                pass_on(from_client, to_server, from_server, to_client, said.clone());
            } else {
                let address = (target.get_host(), target.get_port());
                let (from_server, to_server) = TcpStream::connect(address).await.unwrap().into_split();
                pass_on(from_client, to_server, from_server, to_client, said.clone());
            }
        }
    });
    through.into()
}

fn pass_on(
    mut from_client: impl AsyncRead + Unpin + Send + 'static,
    mut to_server: impl AsyncWrite + Unpin + Send + 'static,
    mut from_server: impl AsyncRead + Unpin + Send + 'static,
    mut to_client: impl AsyncWrite + Unpin + Send + 'static,
    said: Arc<Mutex<Vec<u8>>>,
) {
    tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    tokio::spawn(async move {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
            said.lock().unwrap().extend_from_slice(&bytes[..count]);
            if to_server.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    });
}

/// Reads what one client said: a start without a tag, then messages of a tag, a length and a body.
fn read(said: &[u8]) -> Vec<Statement> {
    let mut rest = Body(said);
    let start = rest.number();
    rest.take(start as usize - 4);
    let mut prepared: HashMap<Vec<u8>, (String, Vec<u32>)> = HashMap::new();
    let mut statements = Vec::new();
    while !rest.0.is_empty() {
        let tag = rest.take(1)[0];
        let length = rest.number() as usize - 4;
        let mut body = Body(rest.take(length));
        match tag {
            b'Q' if body.0.starts_with(b"BEGIN") => statements.clear(),
            b'P' => {
                let name = body.text().to_vec();
                let sql = String::from_utf8(body.text().to_vec()).unwrap();
                let types = (0..body.short()).map(|_| body.number()).collect();
                prepared.insert(name, (sql, types));
            }
            b'B' => {
                let _portal = body.text();
                let (sql, types) = prepared[body.text()].clone();
                if sql.contains("INSERT INTO sync.audit_events") {
                    return statements;
                }
                let formats = body.short();
                assert!((0..formats).all(|_| body.short() == 1), "a parameter in text form: {sql}");
                let values: Vec<_> = (0..body.short()).map(|_| body.value()).collect();
                assert_eq!(types.len(), values.len(), "{sql}");
                statements.push(Statement { sql, parameters: types.into_iter().zip(values).collect() });
            }
            _ => {}
        }
    }
    panic!("the answer wrote no audit row")
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn text(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        &self.take(end + 1)[..end]
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let length = self.number();
        (length != u32::MAX).then(|| self.take(length as usize).to_vec())
    }
}

#[test]
fn statements_between_begin_and_the_audit_row_are_read() {
    let message = |tag: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag][..], &length.to_be_bytes(), body].concat()
    };
    let said = [
        [&9_u32.to_be_bytes()[..], b"start"].concat(),
        message(b'P', b"s0\0SELECT 0\0\0\0"),
        message(b'B', b"\0s0\0\0\0\0\0\0\0"),
        message(b'Q', b"BEGIN; SET LOCAL x = 1\0"),
        message(b'P', b"s1\0SELECT $1, $2\0\0\x02\0\0\0\x17\0\0\0\x19"),
        message(b'B', b"\0s1\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x05\xff\xff\xff\xff\0\0"),
        message(b'P', b"s2\0INSERT INTO sync.audit_events\0\0\0"),
        message(b'B', b"\0s2\0\0\0\0\0\0\0"),
    ]
    .concat();
    let parameters = vec![(23, Some(vec![0, 0, 0, 5])), (25, None)];
    assert_eq!(read(&said), [Statement { sql: "SELECT $1, $2".to_owned(), parameters }]);
}
