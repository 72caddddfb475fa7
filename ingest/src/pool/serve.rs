//! The inside of a parse child: reads files from stdin, writes their facts to stdout, until stdin ends.

use std::io::{self, BufWriter, Write};

use super::Reply;
use super::wire::{self, HELLO, MAX_REQUEST};
use crate::limits;
use crate::parse;

/// Runs a parse child to its end.
pub fn serve() -> io::Result<()> {
    limits::enter_parse()?;
    let parser =
        std::thread::Builder::new().name("parse".to_owned()).stack_size(limits::PARSE_STACK).spawn(answer_all)?;
    parser.join().map_err(|_| io::Error::other("the parser panicked"))?
}

fn answer_all() -> io::Result<()> {
    let mut input = io::stdin().lock();
    // The facts of most files fit; larger ones pass through.
    let mut output = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    limits::limit_heap()?;
    wire::write_frame(&mut output, HELLO)?;
    while let Some(payload) = wire::read_frame(&mut input, MAX_REQUEST)? {
        limits::limit_file_cpu()?;
        let (head, bytes) =
            wire::parse_request(&payload).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let reply = match parse::parse(&head.path, head.language, bytes) {
            Ok(parsed) => Reply::Parsed(Box::new(parsed)),
            Err(_) => Reply::Refused,
        };
        let reply = postcard::to_allocvec(&reply).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        wire::write_frame(&mut output, &reply)?;
        output.flush()?;
    }
    Ok(())
}
