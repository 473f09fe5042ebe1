"""The images of the server and of its database, built, run and checked on a Docker Engine: `make image-test`."""
