//! Answers of a remote, counted while they are read: a server can send more than any pack or list of refs would be.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gix::protocol::transport::client::blocking_io::http::{GetResponse, Http, PostBodyDataKind, PostResponse};

type HttpResult<T> = Result<T, gix::Error>;

/// How much may be read, and how much was.
#[derive(Debug, Default)]
pub(super) struct Meter {
    allowed: AtomicU64,
    read: AtomicU64,
    is_over: AtomicBool,
}

impl Meter {
    /// Lets so many bytes more be read from now on.
    pub(super) fn allow(&self, bytes: u64) {
        self.allowed.store(self.read().saturating_add(bytes), Ordering::Relaxed);
    }

    /// Bytes that were read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether there was more than may be read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let read = self.read.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if read > self.allowed.load(Ordering::Relaxed) {
            self.is_over.store(true, Ordering::Relaxed);
            return Err(io::Error::other("the remote sends more than is read"));
        }
        Ok(())
    }
}

/// A client whose answers are counted.
pub(super) struct Bounded<H> {
    pub(super) client: H,
    pub(super) meter: Arc<Meter>,
}

impl<H: Http> Http for Bounded<H> {
    type Headers = BoundedBody<H::Headers>;
    type ResponseBody = BoundedBody<H::ResponseBody>;
    type PostBody = H::PostBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> HttpResult<GetResponse<Self::Headers, Self::ResponseBody>> {
        let GetResponse { headers, body } = self.client.get(url, base_url, headers)?;
        Ok(GetResponse { headers: self.bounded(headers), body: self.bounded(body) })
    }

    fn post(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        body: PostBodyDataKind,
    ) -> HttpResult<PostResponse<Self::Headers, Self::ResponseBody, Self::PostBody>> {
        let PostResponse { post_body, headers, body } = self.client.post(url, base_url, headers, body)?;
        Ok(PostResponse { post_body, headers: self.bounded(headers), body: self.bounded(body) })
    }

    fn configure(&mut self, config: &dyn std::any::Any) -> HttpResult<()> {
        self.client.configure(config)
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.client.redirected_base_url()
    }
}

impl<H> Bounded<H> {
    fn bounded<R>(&self, inner: R) -> BoundedBody<R> {
        BoundedBody { inner, meter: self.meter.clone() }
    }
}

/// An answer that is counted.
pub(super) struct BoundedBody<R> {
    inner: R,
    meter: Arc<Meter>,
}

impl<R: Read> Read for BoundedBody<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.count(read)?;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for BoundedBody<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // What is over the limit was counted when the part before it was consumed.
        self.meter.count(0)?;
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        // The next look says it.
        let _ = self.meter.count(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_at_the_limit_however_it_is_read() {
        let meter = Arc::new(Meter::default());
        meter.allow(10);
        let mut body = BoundedBody { inner: [0_u8; 100].as_slice(), meter: meter.clone() };
        let mut buffer = [0; 8];
        assert_eq!(body.read(&mut buffer).unwrap(), 8);
        assert!(body.read(&mut buffer).is_err());
        assert!(meter.is_over());
        let meter = Arc::new(Meter::default());
        meter.allow(10);
        let mut body = BoundedBody { inner: [0_u8; 100].as_slice(), meter: meter.clone() };
        assert_eq!(body.fill_buf().unwrap().len(), 100);
        body.consume(100);
        assert!(body.fill_buf().is_err());
        assert!(meter.is_over() && meter.read() == 100);
        meter.allow(10);
        assert!(body.fill_buf().is_ok(), "another answer may be read");
    }
}
