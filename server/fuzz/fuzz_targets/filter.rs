#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sync_server::fuzzing::filter(bytes));
