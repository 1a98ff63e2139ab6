//! A statement on another process's unit, where the program executes it: what it says and the values it writes are recorded, and sent to the
//! owner when a result is needed, at its end at the latest. From the first message on until the end no other request gets to the owner, so
//! the statement is carried out as one.

use std::ffi::{CStr, c_void};

use super::statement::Begin;
use super::values::Values;
use super::wire::{Reader, Writer};
use crate::check;
use crate::job::die;
use crate::stdio::mailbox::{DATA_BYTES, Held, Operation};
use crate::sync;

/// Parts of a message; the owner's side is in [`super::serve`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Part {
    /// {kind, unit, line, id, source file with NUL or nothing, format or nothing}.
    Begin,
    /// {which}.
    Handlers,
    /// {which, text}.
    Text,
    /// {which, value}.
    Number,
    /// {input, values}; gives the values.
    Item,
    /// {input, name, {name, values} of each}; gives the values of each.
    Namelist,
    /// {which, key, contents of where the answer goes}; gives these.
    Ask,
    /// Gives the status.
    End,
}

impl Part {
    pub const ALL: [Part; 8] = [
        Part::Begin,
        Part::Handlers,
        Part::Text,
        Part::Number,
        Part::Item,
        Part::Namelist,
        Part::Ask,
        Part::End,
    ];
}

/// See the module documentation.
pub struct Remote {
    owner: u32,
    unit: i32,
    message: Writer,
    held: Option<Held>,
}

impl Remote {
    /// Begins a statement on a unit of `owner`.
    ///
    /// # Safety
    /// The structure is one that the program's call has filled in.
    pub unsafe fn begin(owner: u32, begin: &Begin) -> Remote {
        let mut message = Writer::default();
        message.word(Part::Begin as u64);
        message.word(begin.kind as u64);
        message.signed(begin.unit.into());
        message.signed(begin.line.into());
        message.signed(begin.id.into());
        // SAFETY: the source file's name is a constant of the program, the format as long as it says or an array of characters; both were
        // made readable.
        unsafe {
            let file =
                if begin.file.is_null() { &[] } else { CStr::from_ptr(begin.file).to_bytes_with_nul() };
            message.bytes(file);
            if !begin.format_descriptor.is_null() {
                let format = Values::collect(begin.format_descriptor as usize).map(|v| v.bytes);
                message.bytes(&format.unwrap_or_default());
            } else if begin.format.is_null() {
                message.bytes(&[]);
            } else {
                message.bytes(std::slice::from_raw_parts(begin.format, begin.format_len));
            }
        }
        Remote { owner, unit: begin.unit, message, held: None }
    }

    /// Sends what was recorded: result of its last part, and the bytes that it gives.
    fn exchange(&mut self) -> (i64, Vec<u8>) {
        let message = std::mem::take(&mut self.message).0;
        loop {
            let held = self.held.get_or_insert_with(|| Held::claim(self.owner));
            let (head, tail) = message.split_at((message.len().max(1) - 1) / DATA_BYTES * DATA_BYTES);
            for chunk in head.chunks(DATA_BYTES) {
                let _ = held.exchange(Operation::FortranPart, 0, (chunk.len() as i64, 0), chunk, &mut []);
            }
            let mut chunk = vec![0; DATA_BYTES];
            let run = held.exchange(Operation::FortranRun, 0, (tail.len() as i64, 0), tail, &mut chunk);
            let len = run.unwrap_or(0) as usize;
            let mut reply = chunk[..len.min(DATA_BYTES)].to_vec();
            while reply.len() < len {
                let at = (reply.len() as i64, 0);
                let got =
                    held.exchange(Operation::FortranFetch, 0, at, &[], &mut chunk).unwrap_or(0) as usize;
                reply.extend_from_slice(&chunk[..got]);
            }
            let mut reply = Reader(&reply);
            let (moved, result) = (reply.word(), reply.signed());
            if moved == 0 {
                return (result, reply.bytes().to_vec());
            }
            // Closed there and opened elsewhere since the statement began.
            self.held = None;
            self.owner = result as u32;
            if self.owner == sync::rank() {
                die(&format!(
                    "Fortran unit {} is used while another thread of process {} opens it; put a synchronisation between the two",
                    self.unit, self.owner
                ));
            }
        }
    }

    /// Ends the statement; its status.
    pub fn end(mut self) -> i32 {
        self.message.word(Part::End as u64);
        self.exchange().0 as i32
    }

    fn refuse(&self, what: &str) -> ! {
        die(&format!(
            "process {} reads or writes {what} on Fortran unit {}, which process {} has connected: that is possible in that process only, for \
             example outside parallel regions or in `omp master`",
            sync::rank(),
            self.unit,
            self.owner
        ))
    }

    /// Records an item; for input also what the unit's owner says: result and new contents.
    fn item(&mut self, values: &Values, input: u32) -> Option<(i64, Vec<u8>)> {
        self.message.word(Part::Item as u64);
        self.message.word(input.into());
        values.write(&mut self.message);
        (input != 0).then(|| self.exchange())
    }

    /// # Safety
    /// A descriptor of flang is at `address`, its elements readable.
    unsafe fn values(&self, address: usize) -> Values {
        // SAFETY: the caller's promise.
        unsafe { Values::collect(address) }.unwrap_or_else(|what| self.refuse(what))
    }
}

/// The statement of a cookie that [`super::statement`] knows to be one.
///
/// # Safety
/// The cookie is that of a remote statement of this thread.
unsafe fn remote<'a>(cookie: *mut c_void) -> &'a mut Remote {
    // SAFETY: the caller's promise; the box stays where it is until the end of the statement, and only its own calls use it.
    unsafe { &mut *cookie.cast() }
}

macro_rules! parts {
    ($($name:ident($remote:ident $(, $arg:ident: $t:ty)*) $(-> $result:ty)? = $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(cookie: *mut c_void $(, $arg: $t)*) $(-> $result)? {
            // SAFETY: the C half passes what the program did, and a cookie that `dsm_rt_io_is_remote` knows.
            unsafe {
                let $remote = remote(cookie);
                $body
            }
        }
    )*};
}

parts! {
    dsm_rt_io_handlers(remote, which: u32) = {
        remote.message.word(Part::Handlers as u64);
        remote.message.word(which.into());
    }

    dsm_rt_io_text(remote, which: u32, text: *const u8, len: usize) -> u32 = {
        remote.message.word(Part::Text as u64);
        remote.message.word(which.into());
        remote.message.bytes(std::slice::from_raw_parts(text, len));
        1
    }

    dsm_rt_io_number(remote, which: u32, value: i64) -> u32 = {
        remote.message.word(Part::Number as u64);
        remote.message.word(which.into());
        remote.message.signed(value);
        1
    }

    dsm_rt_io_value(remote, kind: i32, bytes: usize, at: *mut u8, input: u32) -> u32 = {
        let contents = std::slice::from_raw_parts(at, bytes).to_vec();
        let values = Values { kind: kind as i8, element: bytes, bounds: vec![], derived: 0, bytes: contents };
        let Some((done, new)) = remote.item(&values, input) else { return 1 };
        if new != values.bytes && new.len() == bytes {
            check::writable(at as usize, bytes);
            at.copy_from_nonoverlapping(new.as_ptr(), bytes);
        }
        done as u32
    }

    dsm_rt_io_array(remote, descriptor: *const c_void, table: *const usize, input: u32) -> u32 = {
        if !table.is_null() && *table != 0 {
            remote.refuse("an object with defined input or output");
        }
        let values = remote.values(descriptor as usize);
        let Some((done, new)) = remote.item(&values, input) else { return 1 };
        values.put_back(descriptor as usize, &new);
        done as u32
    }

    dsm_rt_io_namelist(remote, group: *const Group, input: u32) -> u32 = {
        let group = &*group;
        if !group.table.is_null() && *group.table != 0 {
            remote.refuse("an object with defined input or output");
        }
        remote.message.word(Part::Namelist as u64);
        remote.message.word(input.into());
        remote.message.bytes(CStr::from_ptr(group.name).to_bytes_with_nul());
        remote.message.word(group.count as u64);
        let mut all = Vec::new();
        for item in std::slice::from_raw_parts(group.items, group.count) {
            let values = remote.values(item.descriptor as usize);
            remote.message.bytes(CStr::from_ptr(item.name).to_bytes_with_nul());
            values.write(&mut remote.message);
            all.push((item.descriptor as usize, values));
        }
        if input == 0 {
            return 1;
        }
        let (done, new) = remote.exchange();
        let mut new = Reader(&new);
        for (descriptor, values) in all {
            values.put_back(descriptor, new.bytes());
        }
        done as u32
    }

    dsm_rt_io_ask(remote, which: u32, key: u64, to: *mut u8, len: usize) -> i64 = {
        remote.message.word(Part::Ask as u64);
        remote.message.word(which.into());
        remote.message.word(key);
        remote.message.bytes(if to.is_null() { &[] } else { std::slice::from_raw_parts(to, len) });
        let (result, answer) = remote.exchange();
        if !to.is_null() && answer.len() == len {
            check::writable(to as usize, len);
            to.copy_from_nonoverlapping(answer.as_ptr(), len);
        }
        result
    }
}

/// A namelist group of flang.
#[repr(C)]
pub struct Group {
    pub name: *const std::ffi::c_char,
    pub count: usize,
    pub items: *const Item,
    /// Number of procedures for defined input and output that are no type's own, and more.
    pub table: *const usize,
}

/// An object of a namelist.
#[repr(C)]
pub struct Item {
    pub name: *const std::ffi::c_char,
    pub descriptor: *const c_void,
}
