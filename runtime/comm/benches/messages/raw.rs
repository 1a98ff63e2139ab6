//! The exchanges by plain sockets: a connection for each thread, and a thread for each connection at the server.

use std::io::{Read, Write};
use std::net::{Incoming, TcpListener, TcpStream};
use std::sync::Mutex;

use super::{Exchanges, MOST, Operation, THREADS};

/// What is wanted, and how many bytes.
const HEAD: usize = 16;

/// Listens at the address, and says so.
pub fn listen(address: &str) -> Incoming<'static> {
    let listener: &'static TcpListener =
        Box::leak(Box::new(TcpListener::bind(address).expect("an address of this host")));
    println!("ready");
    listener.incoming()
}

/// Serves until it is killed.
pub fn serve(address: &str) {
    for socket in listen(address) {
        std::thread::spawn(move || serve_one(socket.expect("a connection")));
    }
}

fn serve_one(mut socket: TcpStream) {
    socket.set_nodelay(true).expect("an option of TCP");
    let mut buffer = vec![2; HEAD + MOST];
    let mut received = 0;
    loop {
        match socket.read(&mut buffer[received..]) {
            Ok(count) if count > 0 => received += count,
            _ => return,
        }
        let Some(head) = buffer[..received].first_chunk::<HEAD>() else { continue };
        let bytes = u64::from_le_bytes(*head.last_chunk().expect("eight bytes")) as usize;
        let is_read = head[0] == 0;
        let (wanted, replied) = if is_read { (0, bytes) } else { (bytes, 8) };
        if received < HEAD + wanted {
            continue;
        }
        received = 0;
        if socket.write_all(&buffer[HEAD..HEAD + replied]).is_err() {
            return;
        }
    }
}

/// The client's connections with their buffers, by thread.
pub struct Client(Vec<Mutex<(TcpStream, Vec<u8>)>>);

impl Client {
    /// Connects to the server.
    pub fn connect(address: &str) -> Client {
        let one = |_| {
            let socket = TcpStream::connect(address).expect("the server listens");
            socket.set_nodelay(true).expect("an option of TCP");
            Mutex::new((socket, vec![1; HEAD + MOST]))
        };
        Client((0..THREADS[THREADS.len() - 1]).map(one).collect())
    }
}

impl Exchanges for Client {
    fn run(&self, thread: usize, operation: Operation, bytes: usize) {
        let (socket, buffer) = &mut *self.0[thread].lock().expect("nobody fails");
        buffer[0] = operation as u8;
        buffer[8..HEAD].copy_from_slice(&(bytes as u64).to_le_bytes());
        let (sent, received) = if operation == Operation::Read { (0, bytes) } else { (bytes, 8) };
        socket.write_all(&buffer[..HEAD + sent]).expect("the server is there");
        socket.read_exact(&mut buffer[..received]).expect("the server is there");
    }
}
