//! Callers that cost as little as can be: each has one connection, sends the same bytes, and reads what comes.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long answers took, in seconds.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) p50: f64,
    p99: f64,
    a_second: f64,
    /// How many of a hundred were told that the service is too busy: they are in no other figure.
    not_answered: f64,
}

impl Figures {
    /// The turn in the middle, by its p50.
    pub(super) fn median(mut turns: Vec<Self>) -> Self {
        turns.sort_by(|a, b| a.p50.total_cmp(&b.p50));
        turns.swap_remove(turns.len() / 2)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {:7.2} ms, p99 {:7.2} ms, {:6.0}/s", self.p50 * 1e3, self.p99 * 1e3, self.a_second)?;
        if self.not_answered > 0.0 { write!(f, " ({:.1} % not answered)", self.not_answered) } else { Ok(()) }
    }
}

/// The bytes of a call of the tool.
pub(super) fn request(address: &str, credential: Option<&str>, arguments: &Value) -> Vec<u8> {
    let params = json!({ "name": "sync_explain_call_site", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let authorization =
        credential.map(|credential| format!("authorization: Bearer {credential}\r\n")).unwrap_or_default();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\n{authorization}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Asks once; gives the answer.
pub(super) async fn once(address: &str, request: &[u8]) -> Value {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let mut buffer = Vec::new();
    let body = exchange(&mut connection, request, &mut buffer).await;
    serde_json::from_slice(&buffer[body..]).unwrap()
}

/// Asks for so long by so many at a time.
pub(super) async fn ask(address: &str, request: &[u8], callers: usize, duration: Duration) -> Figures {
    let began = Instant::now();
    let asking: Vec<_> = (0..callers)
        .map(|_| {
            let (address, request) = (address.to_owned(), request.to_vec());
            tokio::spawn(async move {
                let mut connection = TcpStream::connect(&address).await.unwrap();
                connection.set_nodelay(true).unwrap();
                let (mut buffer, mut times, mut busy) = (Vec::new(), Vec::new(), 0_u32);
                while began.elapsed() < duration {
                    let asked = Instant::now();
                    let body = exchange(&mut connection, &request, &mut buffer).await;
                    if is_answer(&buffer[body..]) {
                        times.push(asked.elapsed().as_secs_f64());
                    } else {
                        busy += 1;
                    }
                }
                (times, busy)
            })
        })
        .collect();
    let (mut times, mut busy) = (Vec::new(), 0);
    for caller in asking {
        let (answered, not_answered) = caller.await.unwrap();
        times.extend(answered);
        busy += not_answered;
    }
    assert!(!times.is_empty(), "nothing was answered in time");
    let took = began.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let count = u32::try_from(times.len()).unwrap();
    Figures {
        p50: times[times.len() / 2],
        p99: times[(times.len() * 99 / 100).min(times.len() - 1)],
        a_second: f64::from(count) / took,
        not_answered: f64::from(busy) * 100.0 / f64::from(busy + count),
    }
}

/// Whether it is what was asked for, and not that the service could not answer in time.
fn is_answer(body: &[u8]) -> bool {
    !String::from_utf8_lossy(body).contains(r#""isError":true"#)
}

/// Sends a request and reads its response, which must come with 200; gives where in the buffer the body begins.
async fn exchange(connection: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> usize {
    buffer.clear();
    connection.write_all(request).await.unwrap();
    loop {
        assert!(connection.read_buf(buffer).await.unwrap() > 0, "the connection was closed");
        let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let whole = end + 4 + length.parse::<usize>().unwrap();
        while buffer.len() < whole {
            assert!(connection.read_buf(buffer).await.unwrap() > 0, "the connection was closed");
        }
        return end + 4;
    }
}
