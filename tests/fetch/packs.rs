//! Packs made by hand, whose headers and deltas say what no git would.

use sha1::{Digest as _, Sha1};

/// A pack that grows with what is put in.
pub(super) struct Pack {
    bytes: Vec<u8>,
    objects: u32,
}

impl Pack {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), objects: 0 }
    }

    /// An object of a kind (1 a commit, 2 a tree, 3 a blob), said to be of a size; where it begins comes back.
    pub(super) fn object(&mut self, kind: u8, size: u64, data: &[u8]) -> u64 {
        let at = self.bytes.len() as u64 + 12;
        self.header(kind, size);
        self.bytes.extend(deflated(data));
        at
    }

    /// What a delta makes of the object that begins at `base`; where it begins comes back.
    pub(super) fn delta(&mut self, base: u64, delta: &[u8]) -> u64 {
        let at = self.bytes.len() as u64 + 12;
        self.header(6, delta.len() as u64);
        let mut distance = at - base;
        let mut offset = vec![low(distance) & 0x7f];
        while distance >> 7 != 0 {
            distance = (distance >> 7) - 1;
            offset.push(low(distance) & 0x7f | 0x80);
        }
        self.bytes.extend(offset.iter().rev());
        self.bytes.extend(deflated(delta));
        at
    }

    /// The whole pack, which may claim another number of objects.
    pub(super) fn finish(&self, claimed: Option<u32>) -> Vec<u8> {
        let mut pack = [b"PACK".as_slice(), &2_u32.to_be_bytes()].concat();
        pack.extend(claimed.unwrap_or(self.objects).to_be_bytes());
        pack.extend(&self.bytes);
        let sum = Sha1::digest(&pack);
        pack.extend(sum);
        pack
    }

    fn header(&mut self, kind: u8, mut size: u64) {
        self.objects += 1;
        let mut byte = kind << 4 | low(size) & 0x0f;
        size >>= 4;
        while size != 0 {
            self.bytes.push(byte | 0x80);
            byte = low(size) & 0x7f;
            size >>= 7;
        }
        self.bytes.push(byte);
    }
}

/// A delta that copies `length` bytes (at most 16 MiB) of a base so many times.
pub(super) fn repeated(base: u64, length: u32, times: u64) -> Vec<u8> {
    let mut delta = [varint(base), varint(u64::from(length) * times)].concat();
    let [a, b, c, _] = length.to_le_bytes();
    for _ in 0..times {
        delta.extend([0xf0, a, b, c]);
    }
    delta
}

/// The id that git gives an object.
pub(super) fn id(kind: &str, data: &[u8]) -> String {
    hex::encode(Sha1::digest([format!("{kind} {}\0", data.len()).as_bytes(), data].concat()))
}

fn low(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(low(number) | 0x80);
        number >>= 7;
    }
    bytes.push(low(number));
    bytes
}

/// A stream of zlib that stores instead of compressing.
fn deflated(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut chunks = data.chunks(65_535).peekable();
    if data.is_empty() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap();
        stream.push(u8::from(chunks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(chunk);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}
