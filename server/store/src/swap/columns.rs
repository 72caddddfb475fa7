//! Rows of many call sites as one array a column: what UNNEST takes.

use std::collections::BTreeMap;

use sync_core::graph::FileFacts;

use crate::convert::{stored, text};

/// Call sites as columns.
#[derive(Default)]
pub(super) struct CallSiteArrays {
    pub(super) file_key: Vec<i64>,
    pub(super) ordinal: Vec<i32>,
    pub(super) line: Vec<i32>,
    pub(super) end_line: Vec<i32>,
    pub(super) start_column: Vec<i32>,
    pub(super) symbol: Vec<String>,
    pub(super) chain: Vec<String>,
    pub(super) vendor: Vec<String>,
    pub(super) operation: Vec<Option<String>>,
    pub(super) operation_erased: Vec<Option<String>>,
    pub(super) binding_source: Vec<&'static str>,
    pub(super) context: Vec<&'static str>,
}

impl CallSiteArrays {
    pub(super) fn add(&mut self, file_key: i64, file: &FileFacts) {
        for (ordinal, call) in file.call_sites.iter().enumerate() {
            self.file_key.push(file_key);
            self.ordinal.push(length(ordinal));
            self.line.push(stored(call.line));
            self.end_line.push(stored(call.end_line));
            self.start_column.push(stored(call.column));
            self.symbol.push(text(&call.symbol).into_owned());
            self.chain.push(text(&call.chain).into_owned());
            self.vendor.push(text(&call.vendor).into_owned());
            self.operation.push(call.operation.as_ref().map(|o| text(o.as_str()).into_owned()));
            self.operation_erased.push(call.operation.as_ref().map(|o| text(&o.erased()).into_owned()));
            self.binding_source.push(call.binding_source.as_str());
            self.context.push(call.context.as_str());
        }
    }
}

/// Call sites of files, counted, as columns.
#[derive(Default)]
pub(super) struct CallCountArrays {
    pub(super) file_key: Vec<i64>,
    pub(super) ordinal: Vec<i32>,
    pub(super) vendor: Vec<String>,
    pub(super) binding_source: Vec<&'static str>,
    pub(super) context: Vec<&'static str>,
    pub(super) call_sites: Vec<i32>,
    pub(super) mapped: Vec<i32>,
}

impl CallCountArrays {
    pub(super) fn add(&mut self, file_key: i64, file: &FileFacts) {
        let mut counts: BTreeMap<(&str, &'static str, &'static str), (usize, usize)> = BTreeMap::new();
        for call in &file.call_sites {
            let alike = (call.vendor.as_str(), call.binding_source.as_str(), call.context.as_str());
            let (all, mapped) = counts.entry(alike).or_default();
            *all += 1;
            *mapped += usize::from(call.operation.is_some());
        }
        for (ordinal, ((vendor, binding_source, context), (all, mapped))) in counts.into_iter().enumerate() {
            self.file_key.push(file_key);
            self.ordinal.push(length(ordinal));
            self.vendor.push(text(vendor).into_owned());
            self.binding_source.push(binding_source);
            self.context.push(context);
            self.call_sites.push(length(all));
            self.mapped.push(length(mapped));
        }
    }
}

/// A length to store.
pub(super) fn length(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
