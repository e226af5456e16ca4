! mpiforsends: sends from Fortran what it knows, and prints it as mpisends does: by
! the bindings of mpif.h, and by those of mpi_f08.
module old
contains
  subroutine send_old(right, left)
    include 'mpif.h'
    integer, intent(in) :: right, left
    double precision :: out(10), in(10)
    integer :: request, ierror, status(MPI_STATUS_SIZE)
    out = 1
    call MPI_IRECV(in, 10, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_SEND(out, 10, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, ierror)
    call MPI_WAIT(request, status, ierror)
  end subroutine
end module

program mpiforsends
  use mpi_f08
  use old
  integer :: rank, size, right, left, numbers(7), more(7)
  type(MPI_Request) :: requests(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call send_old(right, left)
  numbers = rank
  call MPI_Irecv(more, 7, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(numbers, 7, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  print '(i0, " sent ", i0, " 2 ", i0)', rank, right, 10 * 8 + 7 * 4
  call MPI_Finalize()
end program
