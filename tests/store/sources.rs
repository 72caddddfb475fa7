//! What the text of every statement must not say.

use std::fs;
use std::path::{Path, PathBuf};

/// Time is a parameter, or the mock clock lies.
const CLOCKS: [&str; 8] = [
    "now()",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
];

#[test]
fn no_statement_asks_the_database_what_time_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    collect(&root.join("migrations"), &mut files);
    collect(&root.join("server/store/src"), &mut files);
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        // How long ago something was is no question to the database.
        let text = fs::read_to_string(&file).unwrap().to_lowercase().replace("instant::now()", "");
        for clock in CLOCKS {
            assert!(!text.contains(clock), "{} says {clock}", file.display());
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
