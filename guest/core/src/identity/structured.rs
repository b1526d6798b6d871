//! Structured Fields (RFC 9651): an Item that is a String. Its parameters are read, as they must be well-formed, and ignored.

use alloc::vec::Vec;

/// The text of a String Item (section 4.2); `None` for anything else, another type of Item included.
pub fn string_item(field: &[u8]) -> Option<Vec<u8>> {
    let mut input = Input(field);
    input.skip_spaces();
    let text = input.string()?;
    input.parameters()?;
    input.skip_spaces();
    input.0.is_empty().then_some(text)
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Section 4.2.5.
    fn string(&mut self) -> Option<Vec<u8>> {
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Some(text),
                b'\\' => text.push(self.next().filter(|byte| matches!(byte, b'"' | b'\\'))?),
                byte @ 0x20..=0x7e => text.push(byte),
                _ => return None,
            }
        }
    }

    /// Section 4.2.3.2.
    fn parameters(&mut self) -> Option<()> {
        while self.0.starts_with(b";") {
            self.next();
            self.skip_spaces();
            self.next().filter(|byte| byte.is_ascii_lowercase() || *byte == b'*')?;
            self.run(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte));
            if self.0.starts_with(b"=") {
                self.next();
                self.bare_item()?;
            }
        }
        Some(())
    }

    /// Section 4.2.3.1.
    fn bare_item(&mut self) -> Option<()> {
        match self.0.first()? {
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number().map(|_| ()),
            b'*' | b'A'..=b'Z' | b'a'..=b'z' => {
                self.run(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte));
                Some(())
            }
            b':' => self.bytes(),
            b'?' => {
                self.next();
                self.next().filter(|byte| matches!(byte, b'0' | b'1')).map(|_| ())
            }
            b'@' => {
                self.next();
                self.number().filter(|fraction| *fraction == 0).map(|_| ())
            }
            b'%' => self.display_string(),
            _ => None,
        }
    }

    /// An Integer or a Decimal (section 4.2.4): how many digits stand after its point.
    fn number(&mut self) -> Option<usize> {
        if self.0.starts_with(b"-") {
            self.next();
        }
        let whole = self.run(|byte| byte.is_ascii_digit()).len();
        if !self.0.starts_with(b".") {
            return (1..=15).contains(&whole).then_some(0);
        }
        self.next();
        let fraction = self.run(|byte| byte.is_ascii_digit()).len();
        ((1..=12).contains(&whole) && (1..=3).contains(&fraction)).then_some(fraction)
    }

    /// Base64 between colons (section 4.2.7); padding may be left out.
    fn bytes(&mut self) -> Option<()> {
        self.next();
        let digits = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).len();
        let padding = self.run(|byte| byte == b'=').len();
        self.expect(b':')?;
        let whole = if padding == 0 { digits % 4 != 1 } else { padding <= 2 && (digits + padding).is_multiple_of(4) };
        whole.then_some(())
    }

    /// Section 4.2.10.
    fn display_string(&mut self) -> Option<()> {
        self.next();
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return core::str::from_utf8(&text).ok().map(|_| ()),
                b'%' => {
                    let high = self.next().and_then(lower_hex)?;
                    text.push(high << 4 | self.next().and_then(lower_hex)?);
                }
                byte @ 0x20..=0x7e => text.push(byte),
                _ => return None,
            }
        }
    }

    fn skip_spaces(&mut self) {
        self.run(|byte| byte == b' ');
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| !belongs(byte)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at_checked(end).unwrap_or_default();
        self.0 = rest;
        run
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.next().filter(|next| *next == byte).map(|_| ())
    }

    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }
}

fn lower_hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}
