-- Temporal's own databases, beside the one of perdure's store that the image makes.
CREATE DATABASE temporal;
CREATE DATABASE temporal_visibility;
