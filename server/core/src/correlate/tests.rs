//! The rule as a whole.

mod carried;
mod properties;
mod reference;

use super::*;
use crate::operation::Operation;

/// An index in memory.
#[derive(Debug, Default)]
struct Memory {
    files: Files,
    sites: Vec<(String, Vec<Site>)>,
}

impl Index for Memory {
    fn files(&self) -> &Files {
        &self.files
    }

    fn sites(&self, path: &str) -> &[Site] {
        self.sites.iter().find(|(known, _)| known == path).map_or(&[], |(_, sites)| sites)
    }
}

/// Files whose content is the second text, with their calls.
fn memory(files: &[(&str, &str)], sites: &[(&str, Site)]) -> Memory {
    let mut made = Memory { files: Files::new(files.iter().copied()), sites: Vec::new() };
    for (path, site) in sites {
        match made.sites.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) => known.push(site.clone()),
            None => made.sites.push(((*path).to_owned(), vec![site.clone()])),
        }
    }
    made
}

/// A call on lines, with the column of its callee, in a symbol of that name and with tokens of that name.
fn call(lines: (u32, u32), columns: (u32, u32), symbol: &str, operation: Option<&str>) -> Site {
    Site {
        line: lines.0,
        end_line: lines.1,
        column: columns.0,
        callee_line: lines.0,
        callee_column: columns.1,
        symbol: symbol.to_owned(),
        symbol_ordinal: 0,
        call_hash: format!("tokens in {symbol}"),
        vendor: "stripe".to_owned(),
        operation: operation.map(Operation::from_text),
    }
}
