#![no_main]
#![allow(missing_docs, reason = "the target is documented in the library")]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oncegate_core_fuzz::policy::run(data));
