//! What goes over the pipes between an index and its parse children: frames of a length (four bytes, little endian)
//! and that many bytes.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// Largest frame to a child: a source file and its path.
pub(super) const MAX_REQUEST: usize = 1 << 20;
/// Largest frame from a child: the facts of a file.
pub(super) const MAX_REPLY: usize = 64 << 20;

/// What a child says first: that it runs, and that it is of the same version.
pub(super) const HELLO: &[u8] = crate::snapshot::ANALYZER.as_bytes();

/// The head of a request; the file's bytes follow it to the end of the frame.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestHead {
    pub(super) path: String,
    pub(super) language: Language,
}

/// A frame that is too long, or not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WireError(pub(super) String);

/// A request as a whole frame.
pub(super) fn request(path: &str, language: Language, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let head = RequestHead { path: path.to_owned(), language };
    let mut frame = vec![0; 4];
    frame = postcard::to_extend(&head, frame).map_err(|error| WireError(error.to_string()))?;
    frame.extend_from_slice(bytes);
    let length = frame.len() - 4;
    let length = u32::try_from(length)
        .ok()
        .filter(|_| length <= MAX_REQUEST)
        .ok_or_else(|| WireError(format!("a request of {length} bytes is longer than {MAX_REQUEST}")))?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// The parts of a request's payload.
pub(super) fn parse_request(payload: &[u8]) -> Result<(RequestHead, &[u8]), WireError> {
    postcard::take_from_bytes(payload).map_err(|error| WireError(error.to_string()))
}

/// Writes a frame.
pub(super) fn write_frame(out: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_REPLY)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the facts are larger than a frame may be"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(payload)?;
    out.flush()
}

/// Reads a frame; `None` where the input ends before one.
pub(super) fn read_frame(input: &mut impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut read = 0;
    while read < 4 {
        match input.read(&mut length[read..])? {
            0 if read == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => read += n,
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut payload = vec![0; length];
    input.read_exact(&mut payload)?;
    Ok(Some(payload))
}

/// Takes a whole frame off the front of what has arrived, if one is there.
pub(super) fn split_frame(arrived: &mut Vec<u8>, limit: usize) -> Result<Option<Vec<u8>>, WireError> {
    let Some(length) = arrived.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize) else {
        return Ok(None);
    };
    if length > limit {
        return Err(WireError(format!("a frame of {length} bytes")));
    }
    if arrived.len() < 4 + length {
        return Ok(None);
    }
    let rest = arrived.split_off(4 + length);
    let mut frame = std::mem::replace(arrived, rest);
    frame.drain(..4);
    Ok(Some(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_as_it_was() {
        let frame = request("src/é.ts", Language::Tsx, b"let a = 1;\0").unwrap();
        let payload = read_frame(&mut frame.as_slice(), MAX_REQUEST).unwrap().unwrap();
        let (head, bytes) = parse_request(&payload).unwrap();
        assert_eq!(head, RequestHead { path: "src/é.ts".to_owned(), language: Language::Tsx });
        assert_eq!(bytes, b"let a = 1;\0");
    }

    #[test]
    fn frames_are_split_only_when_whole_and_refused_when_too_long() {
        let mut frames = Vec::new();
        write_frame(&mut frames, b"one").unwrap();
        write_frame(&mut frames, b"").unwrap();
        let mut arrived = frames[..5].to_vec();
        assert_eq!(split_frame(&mut arrived, 10).unwrap(), None);
        arrived.extend_from_slice(&frames[5..]);
        assert_eq!(split_frame(&mut arrived, 10).unwrap().unwrap(), b"one");
        assert_eq!(split_frame(&mut arrived, 10).unwrap().unwrap(), b"");
        assert_eq!(split_frame(&mut arrived, 10).unwrap(), None);
        assert!(split_frame(&mut vec![255; 8], 10).is_err());
        assert!(read_frame(&mut [255_u8; 8].as_slice(), 10).is_err());
        assert!(read_frame(&mut [3_u8, 0, 0, 0, 1].as_slice(), 10).is_err(), "a truncated frame is no end");
        assert!(request("a.ts", Language::TypeScript, &vec![0; MAX_REQUEST]).is_err());
    }
}
